package plane

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"text/template"
)

var files = map[string]*template.Template{
	"millrace.yaml": template.Must(template.New("").Parse(`
data_dir: {{.Plane.Dir}}/data
inventory: inventory.yaml
kafka: {brokers: ["{{.Plane.Kafka.Addr}}"]}
etcd: {endpoints: ["{{.Plane.Etcd.URL}}"]}
endpoints:
{{- range $name, $port := .Ports}}
  {{$name}}: {{$.Plane.URL $name}}
{{- end}}
{{.Settings}}
`)),
	"inventory.yaml": template.Must(template.New("").Parse(`
tls: {ca: "{{.Plane.PKI.CA}}", cert: "{{.Cert}}", key: "{{.Key}}"}
devices:
  - {name: WR, address: "{{.Plane.Routers.WR.Link.Address}}", loopback: 192.0.2.1, pe: "{{.Plane.Routers.WR.PE.Link.Address}}", exporters: [192.0.2.1, 192.0.2.11]}
  - {name: ER, address: "{{.Plane.Routers.ER.Link.Address}}", loopback: 192.0.2.2, pe: "{{.Plane.Routers.ER.PE.Link.Address}}"}
`)),
}

// configure writes the file that all services share, and the inventory.
func (p *Plane) configure(t *testing.T, o Options) {
	t.Helper()
	cert, key := p.PKI.Issue(t, "millrace")
	values := map[string]any{"Plane": p, "Ports": Ports, "Cert": cert, "Key": key, "Settings": o.Settings}
	for name, text := range files {
		var out bytes.Buffer
		if err := text.Execute(&out, values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, name), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
