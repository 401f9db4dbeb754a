package processes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"text/template"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// ports are where the services listen: the endpoints section of the one file all share.
var ports = map[string]int{
	"flowstore": 7001, "flow": 7002, "telemetry": 7003, "topology": 7004, "paths": 7005, "twin": 7011, "circuits": 7012,
	"policy": 7006, "push": 7007, "alpha": 7008, "dashboard": 7009, "vpn": 7010,
}

const flowPort = "2055"

// deadPort is where the router's gNMI server would be.
const deadPort = "9339"

var files = map[string]*template.Template{
	"millrace.yaml": template.Must(template.New("").Parse(`
data_dir: {{.Dir}}/data
inventory: inventory.yaml
kafka: {brokers: ["{{.Kafka}}"]}
etcd: {endpoints: ["{{.Etcd}}"]}
identity: {mode: off} # secure_test.go has logins and certificates
flow:
  listen: ["{{.Host}}:{{.FlowPort}}"]
alpha:
  nightly_at: ""
circuits:
  topology_age: 1h # no collector publishes it again
  projects: {astro: {members: [ann]}}
endpoints:
{{- range $name, $urls := .Endpoints}}
  {{$name}}: [{{range $i, $url := $urls}}{{if $i}}, {{end}}{{$url}}{{end}}]
{{- end}}
`)),
	"inventory.yaml": template.Must(template.New("").Parse(`
tls: {ca: "{{.CA}}", cert: "{{.Cert}}", key: "{{.Key}}"}
devices:
  - name: WR
    address: {{.Host}}:{{.DeadPort}}
    loopback: 192.0.2.1
    exporters: [{{.Exporter}}]
`)),
}

// writeConfig writes the shared configuration and an inventory of one router that does not answer.
func writeConfig(t *testing.T, dir, host, kafka, etcd string) {
	t.Helper()
	ca := pki.New(t)
	cert, key := ca.Issue(t, "millrace")
	endpoints := map[string][]string{}
	for name, port := range ports {
		endpoints[name] = []string{fmt.Sprintf("http://%s:%d", host, port)}
	}
	for name, port := range secondPorts {
		endpoints[name] = append(endpoints[name], fmt.Sprintf("http://%s:%d", host, port))
	}
	values := map[string]any{
		"Dir": dir, "Host": host, "Kafka": kafka, "Etcd": etcd, "FlowPort": flowPort, "Endpoints": endpoints,
		"CA": ca.CA, "Cert": cert, "Key": key, "DeadPort": deadPort, "Exporter": exporter,
	}
	for name, text := range files {
		var out bytes.Buffer
		if err := text.Execute(&out, values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
