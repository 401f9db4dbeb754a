package faults

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"text/template"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
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

// snapshot is the two routers with one link.
func snapshot() *topologyv1.TopologySnapshot {
	const gigabit = 1_000_000_000
	port := func(address string) []*topologyv1.Interface {
		return []*topologyv1.Interface{{Name: "eth1", Ifindex: 3, Addresses: []string{address}, Speed: gigabit, Up: true}}
	}
	link := func(from, to, local, remote string) *topologyv1.Link {
		return &topologyv1.Link{
			Id: from + "|" + local, LocalRouterId: from, RemoteRouterId: to, LocalAddress: local, RemoteAddress: remote,
			LocalInterface: "eth1", IgpMetric: 10, TeMetric: 10, MaxBandwidth: gigabit,
		}
	}
	return &topologyv1.TopologySnapshot{
		Area: "0.0.0.0", Source: "WR", Time: timestamppb.New(time.Now()),
		Nodes: []*topologyv1.Node{
			{RouterId: "192.0.2.1", Name: "WR", Loopback: "192.0.2.1", SidLabel: 16001, Prefixes: []string{"10.1.0.0/24"}, Interfaces: port("198.51.100.1/30")},
			{RouterId: "192.0.2.2", Name: "ER", Loopback: "192.0.2.2", SidLabel: 16002, Prefixes: []string{"10.2.0.0/24"}, Interfaces: port("198.51.100.2/30")},
		},
		Links: []*topologyv1.Link{
			link("192.0.2.1", "192.0.2.2", "198.51.100.1", "198.51.100.2"),
			link("192.0.2.2", "192.0.2.1", "198.51.100.2", "198.51.100.1"),
		},
	}
}

// tellNetwork says on the bus what the topology collector would, and waits until the paths service knows.
func (w *world) tellNetwork(t *testing.T) {
	t.Helper()
	cfg := bus.DefaultKafkaConfiguration()
	cfg.Brokers = []string{w.kafka}
	b, err := bus.NewKafka(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Publish(t.Context(), bus.TopicTopology, "0.0.0.0", snapshot()); err != nil {
		t.Fatal(err)
	}
	paths := pathsv1connect.NewPathsServiceClient(http.DefaultClient, w.url("paths"))
	program.Until(t, "paths knows both routers", func() (bool, any) {
		r, err := paths.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err != nil {
			return false, err
		}
		return len(r.Msg.GetSnapshot().GetNodes()) == 2, r.Msg
	})
}
