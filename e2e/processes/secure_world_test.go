package processes

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/services/push/pushtest"
)

// secure is a control plane of one process for each service, with mutual TLS between them and logins for people.
type secure struct {
	dir, host, kafka string
	ports            map[string]int
	running          map[string]*program.Process
	routers          map[string]*pushtest.Router
	// client trusts the CA of the services, and has no certificate.
	client *http.Client
}

var secureFiles = map[string]*template.Template{
	"millrace.yaml": template.Must(template.New("").Parse(`
data_dir: {{.Dir}}/data
inventory: inventory.yaml
kafka: {brokers: ["{{.Kafka}}"]}
etcd: {endpoints: ["{{.Etcd}}"]}
tls: {folder: "{{.Dir}}/tls/{service}"}
identity: {mode: "on", url: "https://{{.Host}}:{{.Ports.dashboard}}"}
alpha: {nightly_at: ""}
push: {rollback_after: 2m}
flow:
  listen: ["{{.Host}}:{{.FlowPort}}"]
endpoints:
{{- range $name, $port := .Ports}}
  {{$name}}: https://{{$.Host}}:{{$port}}
{{- end}}
`)),
	"inventory.yaml": template.Must(template.New("").Parse(`
tls: {ca: "{{.CA}}", cert: "{{.Cert}}", key: "{{.Key}}"}
devices:
  - {name: WR, address: "{{.WR}}", loopback: 192.0.2.1, exporters: [192.0.2.1]}
  - {name: ER, address: "{{.ER}}", loopback: 192.0.2.2}
`)),
}

// newSecure makes a CA and certificates as an operator does, and starts every service.
func newSecure(t *testing.T) *secure {
	t.Helper()
	program.NeedLibrary(t)
	s := &secure{dir: t.TempDir(), host: program.OwnHost(), ports: maps.Clone(ports), running: map[string]*program.Process{}, routers: map[string]*pushtest.Router{}}
	s.ports["identity"], s.ports["audit"] = 7013, 7014
	s.kafka = kafka.Start(t).Addr
	s.configure(t, etcd.Start(t, s.host).URL)
	s.run(t, "", "ca", "init", filepath.Join(s.dir, "ca"))
	s.issue(t)
	s.client = s.trusting(t)
	t.Cleanup(func() { s.stop(t) })
	for name := range s.ports {
		s.launch(t, name)
	}
	for name := range s.ports {
		s.ready(t, name)
	}
	return s
}

func (s *secure) configure(t *testing.T, etcd string) {
	t.Helper()
	ca := pki.New(t)
	for _, name := range []string{"WR", "ER"} {
		cert, err := tls.LoadX509KeyPair(ca.Issue(t, name, "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		s.routers[name] = pushtest.Start(t, name, gnmitest.Certs{Server: &tls.Config{
			Certificates: []tls.Certificate{cert}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		}})
	}
	cert, key := ca.Issue(t, "millrace")
	values := map[string]any{
		"Dir": s.dir, "Host": s.host, "Kafka": s.kafka, "Etcd": etcd, "FlowPort": flowPort, "Ports": s.ports,
		"CA": ca.CA, "Cert": cert, "Key": key, "WR": s.routers["WR"].Device.Address, "ER": s.routers["ER"].Device.Address,
	}
	for name, text := range secureFiles {
		var out bytes.Buffer
		if err := text.Execute(&out, values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, name), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// issue signs certificates of all services; only the dashboard's has an address, because browsers look at that.
func (s *secure) issue(t *testing.T) {
	t.Helper()
	ca, out := filepath.Join(s.dir, "ca"), filepath.Join(s.dir, "tls")
	s.run(t, "", "ca", "issue", ca, "--out", out)
	s.run(t, "", "ca", "issue", ca, "dashboard", "--out", out, "--host", s.host)
}

func (s *secure) caFile() string { return filepath.Join(s.dir, "tls", "dashboard", "ca.crt") }

// trusting is a client that trusts the CA of now.
func (s *secure) trusting(t *testing.T) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(s.caFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
}

func (s *secure) url(name string) string { return fmt.Sprintf("https://%s:%d", s.host, s.ports[name]) }

func (s *secure) launch(t *testing.T, name string) {
	t.Helper()
	s.running[name] = program.Start(t, s.dir, name, program.Path, "serve", name, "--config", filepath.Join(s.dir, "millrace.yaml"))
}

// ready waits until a port answers; certificates name services, not hosts, so only the dashboard's is checked here.
func (s *secure) ready(t *testing.T, name string) {
	t.Helper()
	client := s.client
	if name != "dashboard" {
		blind := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		defer blind.CloseIdleConnections()
		client = &http.Client{Transport: blind}
	}
	p := s.running[name]
	program.Until(t, name+" answers", func() (bool, any) {
		if p.Ended() {
			t.Fatalf("%s ended: %s\n%s", name, p.State(), p.Tail())
		}
		r, err := client.Get(s.url(name) + "/healthz")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK, r.Status
	})
}

func (s *secure) stop(t *testing.T) {
	t.Helper()
	for _, p := range s.running {
		p.Ask(syscall.SIGTERM)
	}
	for name, p := range s.running {
		p.Signal(t, syscall.SIGTERM)
		if code := p.State().ExitCode(); code != 0 {
			t.Errorf("%s: %s after SIGTERM, want exit status 0\n%s", name, p.State(), p.Tail())
		}
		if t.Failed() {
			t.Logf("%s said at the end:\n%s", name, p.Tail())
		}
	}
}

// as runs the command of somebody, whose logins are in a folder of their own, and returns all that it prints.
func (s *secure) as(person, input string, args ...string) (string, error) {
	cmd := exec.Command(program.Path, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(s.dir, "home-"+person), "MILLRACE_SERVER="+s.url("dashboard"), "SSL_CERT_FILE="+s.caFile(), "MILLRACE_TOKEN=")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *secure) run(t *testing.T, person string, args ...string) string {
	t.Helper()
	return s.with(t, person, "", args...)
}

// with is run with lines on standard input.
func (s *secure) with(t *testing.T, person, input string, args ...string) string {
	t.Helper()
	out, err := s.as(person, input, args...)
	if err != nil {
		t.Fatalf("%s: millrace %s: %v\n%s", person, strings.Join(args, " "), err, out)
	}
	return out
}

var loginLink = regexp.MustCompile(`https://\S+/#login=\S+`)

// link is the login link that the process of identity printed.
func (s *secure) link(t *testing.T) (link string) {
	t.Helper()
	program.Until(t, "identity prints a login link", func() (bool, any) {
		log, err := os.ReadFile(s.running["identity"].Log)
		link = loginLink.FindString(string(log))
		return err == nil && link != "", err
	})
	return link
}

// token is what `millrace login` keeps of somebody.
func (s *secure) token(t *testing.T, person string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "home-"+person, "millrace", "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if err := json.Unmarshal(raw, &all); err != nil || all[s.url("dashboard")] == "" {
		t.Fatalf("%s: %v", raw, err)
	}
	return all[s.url("dashboard")]
}

// bearer shows a token with each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// begun is the beginning of a transfer's minute.
func begun() time.Time {
	return time.Now().Add(-3 * time.Minute).Truncate(time.Minute).Add(10 * time.Second)
}
