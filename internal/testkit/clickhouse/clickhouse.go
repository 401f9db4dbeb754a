// Package clickhouse runs a real ClickHouse server for tests.
//
// In: the program clickhouse-server. Out: a server that lives as long as the test.
// Next: internal/store, internal/backup.
package clickhouse

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/ports"
)

// Start runs Debian's ClickHouse server, which is old (18.16) but real:
// it proves connecting, logging in, batches and queries over the native
// protocol, not modern SQL. Its user is millrace, with the password secret.
func Start(t testing.TB) (address string) {
	t.Helper()
	binary, err := exec.LookPath("clickhouse-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("clickhouse-server is missing, which tools/setup/packages.sh installs")
		}
		t.Skip("clickhouse-server is missing (apt-get install clickhouse-server)")
	}
	port := ports.Reserve(t)
	address = ports.Addr(port)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.xml"), fmt.Sprintf(`<yandex>
		<logger><level>warning</level><console>1</console></logger>
		<listen_host>127.0.0.1</listen_host><tcp_port>%d</tcp_port>
		<path>%s/data/</path><tmp_path>%[2]s/tmp/</tmp_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
		<mark_cache_size>5368709</mark_cache_size></yandex>`, port, dir))
	write(t, filepath.Join(dir, "users.xml"), `<yandex><profiles><default/></profiles><quotas><default/></quotas>
		<users><millrace><password>secret</password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota></millrace></users></yandex>`)
	cmd := exec.Command(binary, "--config-file="+filepath.Join(dir, "config.xml"))
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }() //nolint:errcheck // killed below
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		select {
		case <-ended:
			t.Fatalf("clickhouse-server ended: %s", output.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
