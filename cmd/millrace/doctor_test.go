package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/testkit/pki"
	reserved "github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/version"
	"github.com/millrace/millrace/services/push/pushtest"
)

// A router that answers and one that does not, a control plane that answers with a metric that is wrong, and files.
func TestDoctor(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(logins.Variable, "")
	authority, folder := pki.New(t), t.TempDir()
	cert, key := authority.Issue(t, "millrace")
	theirs, err := tls.LoadX509KeyPair(authority.Issue(t, "WR", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	router := pushtest.Start(t, "WR", gnmitest.Certs{Server: &tls.Config{Certificates: []tls.Certificate{theirs}, ClientCAs: authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}})
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("inventory.yaml", fmt.Sprintf("tls: {ca: %q, cert: %q, key: %q}\ndevices:\n  - {name: WR, address: %q, loopback: 192.0.2.1}\n  - {name: ER, address: %q, loopback: 192.0.2.2}\n",
		authority.CA, cert, key, router.Device.Address, reserved.Loopback(t)))
	config := write("millrace.yaml", "data_dir: "+folder+"\ninventory: inventory.yaml\nkafka: {brokers: [\""+reserved.Loopback(t)+"\"]}\n")
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc(version.Path, version.Serve)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `millrace_services_push_drift{router="WR"} 1`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := root()
		cmd.SetArgs(append([]string{"doctor", "--server", server.URL}, args...))
		cmd.SetOut(&out)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	out, err := run("--config", config)
	var code coded
	if !errors.As(err, &code) || code.code != exitUnmet {
		t.Errorf("error %v, want exit code %d", err, exitUnmet)
	}
	for _, want := range []string{
		"ok       configuration " + config, "warning  certificates " + cert + ": of millrace expires in", "ok       routers WR: answers", "wrong    routers ER: does not answer",
		"wrong    stores Kafka", "ok       control plane " + server.URL, "ok       versions", "warning  routers WR: WR differs from what change sets left on it", "docs/runbooks/MillraceRouterDrift.md",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err := run(); err != nil || strings.Contains(out, "wrong    ") {
		t.Errorf("without a configuration: %v\n%s", err, out)
	}
	if out, err := run("--offline", "--config", write("bad.yaml", "dashbord: {}\n")); err == nil || !strings.Contains(out, "dashbord") {
		t.Errorf("a misspelt key: %v\n%s", err, out)
	}
	mux.HandleFunc("/spare/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no etcd", http.StatusServiceUnavailable) })
	mux.HandleFunc("/other/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/other"+version.Path, version.Serve)
	mux.HandleFunc("/other/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "millrace_services_push_drift{router=\"WR\"} 1\nmillrace_services_push_drift{router=\"ER\"} 1")
	})
	other := server.URL + "/other"
	if out, err := run("--server", server.URL+","+other); err != nil || strings.Count(out, "routers WR") != 1 || strings.Count(out, "routers ER") != 1 ||
		!strings.Contains(out, "control plane "+other+":") {
		t.Errorf("two replicas that know of one router: %v\n%s", err, out)
	}
	if out, err := run("--server", server.URL+","+server.URL+"/spare"); err == nil || strings.Count(out, "routers WR") != 1 ||
		!strings.Contains(out, "ok       control plane "+server.URL+":") || !strings.Contains(out, "wrong    control plane "+server.URL+"/spare: ") {
		t.Errorf("two replicas, of which one is not ready: %v\n%s", err, out)
	}
	server.Close()
	if out, err := run(); err == nil || !strings.Contains(out, "wrong    control plane "+server.URL+": does not answer") {
		t.Errorf("a control plane that is not there: %v\n%s", err, out)
	}
}
