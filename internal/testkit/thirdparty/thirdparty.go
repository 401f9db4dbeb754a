// Package thirdparty runs other projects' programs in tests; tools/clients pins them.
//
// In: a program's name and flags.
// Out: where it is, or a server that runs until the test ends.
// Next: tests of internal/gnmiclient, services/push, services/routeragent and services/circuits.
package thirdparty

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/checkout"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// Variable is the folder that tools/clients/fetch.sh filled. `make test` sets
// it, and then nothing may be missing.
const Variable = "MILLRACE_CLIENTS"

// Tool finds a program, such as bin/gnmi_cli.
func Tool(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(Variable)
	given := dir != "" || os.Getenv("CI") != ""
	if dir == "" {
		dir = filepath.Join(checkout.Root(t), ".cache", "clients")
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err != nil {
		if given {
			t.Fatalf("%s is missing; tools/clients/fetch.sh gets it: %v", name, err)
		}
		t.Skipf("%s is missing: run tools/clients/fetch.sh", name)
	}
	return file
}

// Server runs a program that listens on the address it is given with flags, and waits until it does.
func Server(t testing.TB, name string, flags func(host string, port int) []string) (address string) {
	t.Helper()
	program, port := Tool(t, name), ports.Reserve(t)
	cmd := exec.Command(program, flags("127.0.0.1", port)...)
	log := &Output{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for deadline := time.Now().Add(await.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address
		}
	}
	t.Fatalf("%s does not listen on %s:\n%s", name, address, log)
	return ""
}

// Output is a program's, which may still be writing while it is read.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
