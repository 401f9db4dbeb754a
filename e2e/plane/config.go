package plane

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"text/template"
)

var files = map[string]*template.Template{
	direct: template.Must(template.New("").Parse(`
data_dir: {{.Plane.Dir}}/data
inventory: inventory.yaml
kafka: {brokers: ["{{.Plane.Kafka.Addr}}"]}
etcd: {endpoints: ["http://{{.Plane.EtcdLink.Address}}"]}
identity: {mode: off} # what is tried here are faults, without certificates between services
endpoints:
{{- range $name, $url := .Endpoints}}
  {{$name}}: {{$url}}
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

// The configuration of services that others reach through a link has their own addresses, where they listen; that of
// the rest has the links.
const (
	direct  = "millrace.yaml"
	through = "through.yaml"
)

// config is a service's file.
func (p *Plane) config(service string) string {
	if p.Links[service] != nil {
		return direct
	}
	return through
}

// configure writes the files that services share, and the inventory.
func (p *Plane) configure(t *testing.T, o Options) {
	t.Helper()
	cert, key := p.PKI.Issue(t, "millrace")
	endpoints, links := map[string]string{}, map[string]string{}
	for name := range Ports {
		endpoints[name], links[name] = p.URL(name), p.URL(name)
		if l := p.Links[name]; l != nil {
			links[name] = "http://" + l.Address()
		}
	}
	values := map[string]any{"Plane": p, "Cert": cert, "Key": key, "Settings": o.Settings}
	for file, of := range map[string]map[string]string{direct: endpoints, through: links, "inventory.yaml": nil} {
		values["Endpoints"] = of
		text := files[file]
		if text == nil {
			text = files[direct]
		}
		var out bytes.Buffer
		if err := text.Execute(&out, values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, file), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Reconfigure writes other settings, which a service has when it starts again.
func (p *Plane) Reconfigure(t *testing.T, settings string) {
	t.Helper()
	p.configure(t, Options{Settings: settings})
}
