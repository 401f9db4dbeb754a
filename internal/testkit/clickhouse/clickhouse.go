// Package clickhouse runs real ClickHouse servers for tests: one, or a replicated pair with its ZooKeeper.
//
// In: the program clickhouse-server, and for a pair the jars that tools/setup/jars.sh fetched. Out: servers that live
// as long as the test. Next: internal/store, internal/backup.
package clickhouse

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/child"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// Start runs Debian's ClickHouse server, which is old (18.16) but real:
// it proves connecting, logging in, batches and queries over the native
// protocol, not modern SQL. Its user is millrace, with the password secret.
func Start(t testing.TB) (address string) {
	t.Helper()
	s := newServer(t)
	s.configure(t, "")
	s.Again(t)
	return s.Addr
}

// Server is a server that can go away and come back.
type Server struct {
	process
	// Addr is host:port of its native protocol.
	Addr string

	port  int
	dir   string
	relay *relay // nil without ZooKeeper
}

func newServer(t testing.TB) *Server {
	t.Helper()
	binary, err := exec.LookPath("clickhouse-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("clickhouse-server is missing, which tools/setup/packages.sh installs")
		}
		t.Skip("clickhouse-server is missing (apt-get install clickhouse-server)")
	}
	port, dir := ports.Reserve(t), t.TempDir()
	s := &Server{Addr: ports.Addr(port), port: port, dir: dir}
	s.process = process{
		args: []string{binary, "--config-file=" + filepath.Join(dir, "config.xml")}, log: filepath.Join(dir, "log"), addr: s.Addr,
	}
	return s
}

// configure writes the server's files; more is further XML.
func (s *Server) configure(t testing.TB, more string) {
	t.Helper()
	write(t, filepath.Join(s.dir, "config.xml"), fmt.Sprintf(`<yandex>
		<logger><level>warning</level><console>1</console></logger>
		<listen_host>127.0.0.1</listen_host><tcp_port>%d</tcp_port>
		<path>%s/data/</path><tmp_path>%[2]s/tmp/</tmp_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
		<mark_cache_size>5368709</mark_cache_size>%s</yandex>`, s.port, s.dir, more))
	write(t, filepath.Join(s.dir, "users.xml"), `<yandex><profiles><default/></profiles><quotas><default/></quotas>
		<users><millrace><password>secret</password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota></millrace></users></yandex>`)
}

// process is a program that listens.
type process struct {
	args      []string
	log, addr string
	// ready is what else must hold beside that it listens; may be nil.
	ready func(net.Conn) bool

	cmd   *exec.Cmd
	ended <-chan struct{}
}

// Again starts the program, with the data it had, and returns when it listens.
func (p *process) Again(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p.cmd, p.ended = cmd, ended
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	await.Every(t, 50*time.Millisecond, p.args[0]+" listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", p.args[0], p.Log(t))
		default:
		}
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			return false
		}
		defer conn.Close()
		return p.ready == nil || p.ready(conn)
	})
}

// Kill is the end without a warning (SIGKILL).
func (p *process) Kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it has ended already
	<-p.ended
}

// Log is what the program wrote.
func (p *process) Log(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
