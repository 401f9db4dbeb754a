package peagent

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/pki"
	testports "github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/wholefile"
)

// controlPort is an agent that serves control alone, by a file of its own.
type controlPort struct {
	agent     *Agent
	ca        *pki.Authority
	url, file string
	log       logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func newControlPort(t *testing.T, control string, change ...func(*Agent)) *controlPort {
	t.Helper()
	p := &controlPort{ca: pki.New(t), file: filepath.Join(t.TempDir(), "pe.yaml")}
	p.ca.Issue(t, "pe1", "127.0.0.1")
	p.ca.Revoke(t, p.at("crl.pem"), time.Now().Add(time.Hour))
	address := testports.Loopback(t)
	p.url = "https://" + address
	p.write(t, control)
	cfg, err := Load(p.file)
	if err != nil {
		t.Fatal(err)
	}
	p.agent = newAgent(cfg, Dependencies{Log: slog.New(slog.NewTextHandler(&p.log, nil))})
	for _, f := range change {
		f(p.agent)
	}
	t.Cleanup(func() { p.agent.Stop(t.Context()) })
	if err := p.agent.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *controlPort) at(file string) string { return filepath.Join(filepath.Dir(p.ca.CA), file) }

// write replaces the file: control is what says who may do what.
func (p *controlPort) write(t *testing.T, control string) {
	t.Helper()
	wholefile.Write(t, p.file, fmt.Sprintf("pe: 10.0.0.1\ncore: [x]\nkeys: x\nstate: \"\"\nvpns: [{name: red, id: 1}]\ncontrol: {listen: %q, ca: %s, cert: %s, key: %s, crl: %s, %s}\n",
		strings.TrimPrefix(p.url, "https://"), p.ca.CA, p.at("pe1.pem"), p.at("pe1.key"), p.at("crl.pem"), control))
}

// client has a certificate with this name, and a connection for each request.
func (p *controlPort) client(t *testing.T, name string) *http.Client {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(p.ca.Issue(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.ca.Pool(), Certificates: []tls.Certificate{cert}}, DisableKeepAlives: true,
	}}
}
