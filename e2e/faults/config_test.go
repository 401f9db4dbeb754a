package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"text/template"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// Times are those of an operator, divided: a fault outlasts calls and locks, and a commit that nobody confirms is
// rolled back while the test waits.
var files = map[string]*template.Template{
	"millrace.yaml": template.Must(template.New("").Parse(`
data_dir: {{.Dir}}/data
inventory: inventory.yaml
kafka: {brokers: ["{{.Kafka}}"]}
etcd: {endpoints: ["{{.Etcd}}"]}
alpha: {nightly_at: ""}
push: {rollback_after: 20s, verify_for: 5s, call_timeout: 3s, commit_timeout: 4s, lock_ttl: 3s}
endpoints:
  flowstore: http://{{.Host}}:7001
{{- range $name, $port := .Ports}}
  {{$name}}: http://{{$.Host}}:{{$port}}
{{- end}}
`)),
	"inventory.yaml": template.Must(template.New("").Parse(`
tls: {ca: "{{.CA}}", cert: "{{.Cert}}", key: "{{.Key}}"}
devices:
  - {name: WR, address: "{{.WR}}", loopback: 192.0.2.1}
  - {name: ER, address: "{{.ER}}", loopback: 192.0.2.2}
`)),
}

func (w *world) configure(t *testing.T, ca *pki.Authority) {
	t.Helper()
	cert, key := ca.Issue(t, "millrace")
	values := map[string]any{
		"Dir": w.dir, "Host": w.host, "Kafka": w.kafka, "Etcd": w.etcd.URL, "Ports": ports, "CA": ca.CA, "Cert": cert, "Key": key,
		"WR": w.routers["WR"].link.Address(), "ER": w.routers["ER"].link.Address(),
	}
	for name, text := range files {
		var out bytes.Buffer
		if err := text.Execute(&out, values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, name), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
