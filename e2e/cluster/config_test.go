package cluster

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/program"
)

// A host's file differs from the others' in the folder of its data and the address where flows come in. Times are
// those of an operator, divided, as in e2e/faults.
var hostFile = template.Must(template.New("").Parse(`
data_dir: {{.Dir}}/data-{{.Host.Name}}
inventory: inventory.yaml
kafka:
  brokers: [{{range $i, $h := .Hosts}}{{if $i}}, {{end}}"{{$h.Address}}:9093"{{end}}]
  tls: {ca: "{{.CA}}", cert: "{{.Cert}}", key: "{{.Key}}"}
etcd:
  endpoints: [{{range $i, $h := .Hosts}}{{if $i}}, {{end}}"https://{{$h.Address}}:2379"{{end}}]
  ca: "{{.CA}}"
  cert: "{{.Cert}}"
  key: "{{.Key}}"
tls: {folder: "{{.Dir}}/tls/{service}"}
identity: {mode: "on", url: "{{.URL}}"}
dashboard: {allow_remote: true} # people log in
alpha: {nightly_at: "", rule: {ipv4_length: 32}, window: 30m, overlap: 10m}
push: {rollback_after: 20s, verify_for: 5s, call_timeout: 3s, commit_timeout: 4s, lock_ttl: 3s}
flow: {listen: ["{{.Host.Address}}:2055"], exporters: {default_sampling_rate: 1}}
endpoints:
{{- range $name, $urls := .Endpoints}}
  {{$name}}: [{{$urls}}]
{{- end}}
`))

var inventoryFile = template.Must(template.New("").Parse(`
tls: {ca: "{{.CA}}", cert: "{{.Cert}}", key: "{{.Key}}"}
devices:
  - {name: WR, address: "{{.Routers.WR.Link.Address}}", loopback: 192.0.2.1, pe: "{{.Routers.WR.PE.Link.Address}}", exporters: [192.0.2.1]}
  - {name: ER, address: "{{.Routers.ER.Link.Address}}", loopback: 192.0.2.2, pe: "{{.Routers.ER.PE.Link.Address}}"}
`))

// shown is a host in the files.
type shown struct{ Name, Address string }

// configure writes a file for each host, and the inventory.
func (w *world) configure(t *testing.T, routers map[string]*plane.Router) {
	t.Helper()
	cert, key := w.ca.Issue(t, "millrace")
	values := map[string]any{
		"Dir": w.dir, "CA": w.ca.CA, "Cert": cert, "Key": key, "URL": w.url(w.hosts[0], "dashboard"), "Routers": routers, "Endpoints": w.endpoints(),
	}
	var all []shown
	for _, h := range w.hosts {
		all = append(all, shown{h.name, h.address})
	}
	values["Hosts"] = all
	for _, h := range all {
		values["Host"] = h
		w.write(t, h.Name+".yaml", hostFile, values)
	}
	w.write(t, "inventory.yaml", inventoryFile, values)
}

// endpoints are the URLs of each service's replicas, comma-separated.
func (w *world) endpoints() map[string]string {
	out := map[string]string{"flowstore": w.url(w.hosts[2], "flowstore")}
	for name := range doubled {
		out[name] = w.url(w.hosts[0], name) + ", " + w.url(w.hosts[1], name)
	}
	return out
}

func (w *world) write(t *testing.T, name string, file *template.Template, values map[string]any) {
	t.Helper()
	var out bytes.Buffer
	if err := file.Execute(&out, values); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, name), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificates are of millrace's CA, one for each service; that of the dashboard has the addresses of both.
func (w *world) certificates(t *testing.T) {
	t.Helper()
	ca, out := filepath.Join(w.dir, "ca"), filepath.Join(w.dir, "tls")
	for _, arguments := range [][]string{
		{"ca", "init", ca},
		{"ca", "issue", ca, "--out", out},
		{"ca", "issue", ca, "dashboard", "--out", out, "--host", w.hosts[0].address, "--host", w.hosts[1].address},
	} {
		if said, err := exec.Command(program.Path, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("millrace %s: %v: %s", strings.Join(arguments, " "), err, said)
		}
	}
}

func (w *world) caFile() string { return filepath.Join(w.dir, "tls", "dashboard", "ca.crt") }

// hostOf is the host of host:port.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address) // made here
	return host
}

// listens is host:port of a URL.
func listens(of string) string {
	u, _ := url.Parse(of) // made here
	return u.Host
}
