package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/pki"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// profile is that of a circuit, as services/policy renders it.
const profile = `{"openconfig-qos:qos":{"scheduler-policies":{"scheduler-policy":[{"name":"te-profile-c1","config":{"name":"te-profile-c1"},
 "schedulers":{"scheduler":[{"sequence":1,"config":{"sequence":1,"type":"ONE_RATE_TWO_COLOR"},
  "one-rate-two-color":{"config":{"cir":"8000000","bc":131072,"queuing-behavior":"POLICE"},"exceed-action":{"config":{"drop":false}}}}]}}]}}}`

// frames is one end of a circuit between ports, as services/policy renders it.
const frames = `{"openconfig-network-instance:network-instances":{"network-instance":[
 {"name":"te-circuit-c2","config":{"name":"te-circuit-c2","type":"openconfig-network-instance-types:L2P2P"},"connection-points":{"connection-point":[
  {"connection-point-id":"local","config":{"connection-point-id":"local"},"endpoints":{"endpoint":[{"endpoint-id":"to",
   "config":{"endpoint-id":"to","type":"openconfig-network-instance-types:LOCAL"},"local":{"config":{"interface":"ge-a","te-circuit-ext:vlan-id":100}}}]}},
  {"connection-point-id":"remote","config":{"connection-point-id":"remote"},"endpoints":{"endpoint":[{"endpoint-id":"from",
   "config":{"endpoint-id":"from","type":"openconfig-network-instance-types:REMOTE"},
   "remote":{"config":{"remote-system":"10.0.2.2","virtual-circuit-identifier":7,"te-circuit-ext:local-system":"198.18.0.2"}}}]}}]}}]}}`

// The real agent on a real kernel, with the queues and rules of a change set, one of them a circuit's, and with an end
// of a circuit between ports: all five kinds of counters must come.
func TestARealAgentsCountersReachTheBus(t *testing.T) {
	inv, config := agentWith(t, "../../services/routeragent/testdata/hntes.json")
	creds, err := inv.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	client, err := gnmiclient.Dial(t.Context(), inv.Devices[0], creds)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	config = strings.Replace(config, `"action":{"config":{}`, `"action":{"config":{"te-qos-ext:policer":"te-profile-c1"}`, 1)
	set := &gnmi.SetRequest{}
	for _, text := range []string{profile, frames, config} {
		val := &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
		set.Update = append(set.Update, &gnmi.Update{Path: &gnmi.Path{}, Val: val})
	}
	if _, err := client.Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}

	b := bus.NewMemory()
	defer b.Close()
	seen := make(chan string, 10000)
	err = b.Subscribe(t.Context(), bus.TopicTelemetry, "test", func(_ context.Context, m bus.Message) error {
		batch := &telemetryv1.CounterBatch{}
		if err := proto.Unmarshal(m.Value, batch); err != nil {
			return err
		}
		for _, c := range batch.GetCounters() {
			seen <- c.GetPath()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := telemetry.DefaultConfiguration()
	cfg.Interval = 200 * time.Millisecond
	c, err := telemetry.New(cfg, telemetry.Dependencies{Inventory: inv, TLS: creds, Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Stop(context.Background())
	missing := map[string]bool{
		"/state/counters/out-octets": true, "/state/transmit-octets": true, "/state/avg-queue-len": true, "/state/matched-pkts": true,
		"/qos/scheduler-policies/scheduler-policy[name=te-profile-c1]/schedulers/scheduler[sequence=1]/one-rate-two-color/state/exceeding-octets":                                  true,
		"/network-instances/network-instance[name=te-circuit-c2]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=to]/state/in-octets": true,
	}
	for end := time.Now().Add(await.Patience); len(missing) > 0; {
		path := await.Value(t, fmt.Sprintf("counters %v", missing), seen)
		for suffix := range missing {
			if strings.HasSuffix(path, suffix) {
				delete(missing, suffix)
			}
		}
		if len(missing) > 0 && time.Now().After(end) { // others may come for ever
			t.Fatalf("no counters %v", missing)
		}
	}
}

// agentWith starts an agent and returns its inventory and the configuration to give it.
func agentWith(t *testing.T, file string) (*device.Inventory, string) {
	t.Helper()
	authority := pki.New(t)
	cert, key := authority.Issue(t, "router", "127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	router := labtest.NewRouter(t)
	agent, err := routeragent.New(routeragent.Configuration{
		Name: "wr", DataDir: t.TempDir(), FRRInstance: "none",
		TLS:        routeragent.TLS{Cert: cert, Key: key, CA: authority.CA},
		Roles:      map[string]routeragent.Role{"controller": routeragent.RoleOperator},
		Interfaces: map[string]routeragent.Interface{"ge-a": {Speed: 100e6, Buffer: 1250000}, "ge-b": {Speed: 100e6, Buffer: 1250000}},
	}, routeragent.Dependencies{Log: slog.New(slog.DiscardHandler), Namespace: &router.NS, Listener: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Stop(context.Background()) })
	cert, key = authority.Issue(t, "controller")
	return &device.Inventory{
		TLS:     device.TLS{CA: authority.CA, Cert: cert, Key: key},
		Devices: []device.Device{{Name: "wr", Address: l.Addr().String()}},
	}, withoutLSPs(t, file)
}

// withoutLSPs reads a configuration and takes out what needs FRR, which a
// router made of one namespace does not run.
func withoutLSPs(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	var prune func(any)
	prune = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			for _, name := range []string{"mpls", "path-selection-groups", "path-selection-group"} {
				delete(x, name)
			}
			for _, member := range x {
				prune(member)
			}
		case []any:
			for _, entry := range x {
				prune(entry)
			}
		}
	}
	prune(tree)
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
