package topology

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/topo"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
)

// recorded is the answer of a router agent on FRR 8.4.4 in a network of three
// routers: 10.255.0.1 – .2 – .3 in a triangle.
func recorded(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// ports is an openconfig-interfaces document: "name address/length bit/s" each.
func ports(list ...string) string {
	var out []string
	for i, p := range list {
		f := strings.Fields(p)
		a := netip.MustParsePrefix(f[1])
		out = append(out, fmt.Sprintf(`{"name":%q,"state":{"ifindex":%d,"oper-status":"UP","te-lsdb-ext:line-rate":%q},
			"subinterfaces":{"subinterface":[{"index":0,"openconfig-if-ip:ipv4":{"addresses":{"address":[{"ip":%q,"state":{"ip":%q,"prefix-length":%d}}]}}}]}}`,
			f[0], i+2, f[2], a.Addr(), a.Addr(), a.Bits()))
	}
	return `{"openconfig-interfaces:interface":[` + strings.Join(out, ",") + `]}`
}

// rig is a collector over three routers of the recorded network.
type rig struct {
	*Component
	client    topologyv1connect.TopologyCollectorServiceClient
	servers   map[string]*gnmitest.Server
	snapshots chan *topologyv1.TopologySnapshot
	events    chan *eventv1.Event
}

func newRig(t *testing.T, change func(*Configuration)) *rig {
	t.Helper()
	certs := gnmitest.NewCerts(t)
	r := &rig{
		servers:   map[string]*gnmitest.Server{},
		snapshots: make(chan *topologyv1.TopologySnapshot, 100), events: make(chan *eventv1.Event, 1000),
	}
	inv := &device.Inventory{}
	for i, d := range []struct{ name, ports string }{
		{"wr", ports("ge-er 10.0.12.1/30 100000000", "ge-cr 10.0.13.1/30 100000000", "ge-w1 192.0.2.1/24 1000000000")},
		{"er", ports("ge-wr 10.0.12.2/30 100000000")},
		{"cr", ports("ge-wr 10.0.13.2/30 100000000")},
	} {
		s := gnmitest.New(t, d.name, certs)
		s.Serve(pathInterfaces, d.ports)
		s.Serve(pathProtocols, recorded(t, "protocols.json"))
		s.Start(t)
		s.Device.Loopback = netip.AddrFrom4([4]byte{10, 255, 0, byte(i + 1)})
		r.servers[d.name] = s
		inv.Devices = append(inv.Devices, s.Device)
	}
	b := bus.NewMemory()
	subscribe(t, b, bus.TopicTopology, r.snapshots, func() *topologyv1.TopologySnapshot { return &topologyv1.TopologySnapshot{} })
	subscribe(t, b, bus.TopicEvents, r.events, func() *eventv1.Event { return &eventv1.Event{} })
	cfg := DefaultConfiguration()
	if change != nil {
		change(&cfg)
	}
	var err error
	r.Component, err = New(cfg, Dependencies{Inventory: inv, TLS: certs.Client, Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(r.Handler())
	local := rpc.NewLocal(mux)
	r.client = topologyv1connect.NewTopologyCollectorServiceClient(local.Client(), rpc.LocalURL)
	t.Cleanup(func() { b.Close(); local.Close() })
	return r
}

func subscribe[M proto.Message](t *testing.T, b bus.Bus, topic string, to chan M, empty func() M) {
	t.Helper()
	err := b.Subscribe(t.Context(), topic, "test", func(_ context.Context, m bus.Message) error {
		msg := empty()
		if err := proto.Unmarshal(m.Value, msg); err != nil {
			return err
		}
		to <- msg
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func next[M any](t *testing.T, from chan M) M {
	t.Helper()
	return await.Value(t, "a message", from)
}

// awaitEvent collects events until one has the code.
func (r *rig) awaitEvent(t *testing.T, code, subject string) {
	t.Helper()
	for {
		if e := next(t, r.events); e.GetCode() == code && e.GetSubject() == subject {
			return
		}
	}
}

// describe is a snapshot in lines that a test can hold.
func describe(m *topologyv1.TopologySnapshot) []string {
	var out []string
	names := map[string]string{}
	for _, n := range m.GetNodes() {
		names[n.GetRouterId()] = n.GetName()
		out = append(out, fmt.Sprintf("%s %s label %d, %d interfaces, %s", n.GetName(), n.GetLoopback(), n.GetSidLabel(), len(n.GetInterfaces()), strings.Join(n.GetPrefixes(), " ")))
	}
	for _, l := range m.GetLinks() {
		out = append(out, fmt.Sprintf("%s: %s to %s over %q, %s to %s, metric %d, %d bit/s", l.GetId(), names[l.GetLocalRouterId()],
			names[l.GetRemoteRouterId()], l.GetLocalInterface(), l.GetLocalAddress(), l.GetRemoteAddress(), l.GetIgpMetric(), l.GetMaxBandwidth()))
	}
	return out
}

func TestTheRecordedNetworkReachesTheBus(t *testing.T) {
	r := newRig(t, nil)
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	got := next(t, r.snapshots)
	want := []string{
		"wr 10.255.0.1 label 16001, 3 interfaces, 10.0.12.0/30 10.0.13.0/30 10.255.0.1/32 192.0.2.0/24",
		"er 10.255.0.2 label 16002, 1 interfaces, 10.0.12.0/30 10.0.23.0/30 10.255.0.2/32 198.51.100.0/24",
		"cr 10.255.0.3 label 16003, 1 interfaces, 10.0.13.0/30 10.0.23.0/30 10.255.0.3/32",
		`10.255.0.1|10.0.12.1: wr to er over "ge-er", 10.0.12.1 to 10.0.12.2, metric 10, 100000000 bit/s`,
		`10.255.0.1|10.0.13.1: wr to cr over "ge-cr", 10.0.13.1 to 10.0.13.2, metric 20, 100000000 bit/s`,
		`10.255.0.2|10.0.12.2: er to wr over "ge-wr", 10.0.12.2 to 10.0.12.1, metric 10, 100000000 bit/s`,
		// Where a router does not show a port, the port keeps what the LSA advertises.
		`10.255.0.2|10.0.23.2: er to cr over "", 10.0.23.2 to 10.0.23.1, metric 10, 1410065408 bit/s`,
		`10.255.0.3|10.0.13.2: cr to wr over "ge-wr", 10.0.13.2 to 10.0.13.1, metric 20, 100000000 bit/s`,
		`10.255.0.3|10.0.23.1: cr to er over "", 10.0.23.1 to 10.0.23.2, metric 10, 1410065408 bit/s`,
	}
	if diff := cmp.Diff(describe(got), want); diff != "" {
		t.Errorf("snapshot (-got +want):\n%s", diff)
	}
	if got.GetArea() != "0.0.0.0" || got.GetSource() != "wr" || got.GetTime() == nil {
		t.Errorf("area %q from %q at %v", got.GetArea(), got.GetSource(), got.GetTime())
	}
}

func TestNothingNewIsNotPublished(t *testing.T) {
	r := newRig(t, nil)
	for range 3 {
		if err := r.read(t.Context(), regular); err != nil {
			t.Fatal(err)
		}
	}
	// Another router answers for the same area now: still the same network.
	r.servers["wr"].Serve(pathProtocols, "")
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	next(t, r.snapshots)
	if n := len(r.snapshots); n != 0 {
		t.Errorf("%d more snapshots of an unchanged network", n)
	}
}

// TestAnOldSnapshotIsPublishedAgain: silence is a collector that does not read.
func TestAnOldSnapshotIsPublishedAgain(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.Republish = time.Nanosecond })
	for range 2 {
		if err := r.read(t.Context(), regular); err != nil {
			t.Fatal(err)
		}
	}
	first, again := next(t, r.snapshots), next(t, r.snapshots)
	if !again.GetTime().AsTime().After(first.GetTime().AsTime()) {
		t.Errorf("read at %s, then at %s", first.GetTime().AsTime(), again.GetTime().AsTime())
	}
}

func TestALinkThatGoesIsNewsAndSoIsItsReturn(t *testing.T) {
	r := newRig(t, nil)
	all := recorded(t, "protocols.json")
	// wr and er stop advertising cr; cr's own LSA is still there, as after a router's failure.
	cut := strings.ReplaceAll(all, `"remote-router-id": "10.255.0.3"`, `"remote-router-id": "10.255.0.9"`)
	for _, step := range []struct{ doc, code, subject string }{
		{all, "router-up", "cr"},
		{cut, "link-down", "10.255.0.1|10.0.13.1"},
		{all, "link-up", "10.255.0.1|10.0.13.1"},
	} {
		for _, s := range r.servers {
			s.Serve(pathProtocols, step.doc)
		}
		if err := r.read(t.Context(), regular); err != nil {
			t.Fatal(err)
		}
		next(t, r.snapshots)
		r.awaitEvent(t, step.code, step.subject)
	}
}

// TestARouterThatIsCutOffIsNotBelieved: the first of the inventory lost its links, not its management port.
func TestARouterThatIsCutOffIsNotBelieved(t *testing.T) {
	r := newRig(t, nil)
	all := recorded(t, "protocols.json")
	lonely := strings.ReplaceAll(all, `"remote-router-id": "10.255.0.1"`, `"remote-router-id": "10.255.0.9"`)
	r.servers["wr"].Serve(pathProtocols, lonely)
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	if got := next(t, r.snapshots); got.GetSource() != "er" {
		t.Errorf("the database of %s is believed, want er's", got.GetSource())
	}
}

func TestNewsBetweenTwoSnapshots(t *testing.T) {
	areas, err := parseTED([]byte(recorded(t, "protocols.json")))
	if err != nil {
		t.Fatal(err)
	}
	whole := areas[0]
	// keep is the network with only the links between the routers named by their last octet.
	keep := func(ends ...string) topo.Snapshot {
		s := whole
		s.Links = nil
		for _, l := range whole.Links {
			a, b := l.From.String(), l.To.String()
			for _, e := range ends {
				if strings.Contains(e, a[len(a)-1:]) && strings.Contains(e, b[len(b)-1:]) {
					s.Links = append(s.Links, l)
				}
			}
		}
		return s
	}
	gone := keep("12")
	gone.Nodes = gone.Nodes[:2]
	for name, tc := range map[string]struct {
		before, after topo.Snapshot
		want          []string
	}{
		"the first snapshot": {topo.Snapshot{}, keep("12", "13", "23"), []string{
			"router-up 10.255.0.1", "router-up 10.255.0.2", "router-up 10.255.0.3",
			"link-up 10.255.0.1|10.0.12.1", "link-up 10.255.0.1|10.0.13.1", "link-up 10.255.0.2|10.0.23.2"}},
		"nothing new":                  {whole, whole, nil},
		"one link of two is news once": {whole, keep("12", "23"), []string{"link-down 10.255.0.1|10.0.13.1"}},
		"a router cut off": {whole, keep("12"), []string{
			"router-down 10.255.0.3", "link-down 10.255.0.1|10.0.13.1", "link-down 10.255.0.2|10.0.23.2"}},
		"its LSA ages out later: that is no more news": {keep("12"), gone, nil},
		"a router that vanishes at once": {whole, gone, []string{
			"router-down 10.255.0.3", "link-down 10.255.0.1|10.0.13.1", "link-down 10.255.0.2|10.0.23.2"}},
	} {
		var got []string
		for _, n := range diff(tc.before, tc.after) {
			got = append(got, n.kind.Code()+" "+n.subject)
			if bad := n.kind.Severity() != eventv1.Severity_SEVERITY_INFO; bad != strings.HasSuffix(n.kind.Code(), "-down") {
				t.Errorf("%s: severity of %s is %s", name, n.kind.Code(), n.kind.Severity())
			}
		}
		if diff := cmp.Diff(got, tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestADeadRouterDoesNotStopTheOthers(t *testing.T) {
	r := newRig(t, nil)
	r.servers["wr"].Stop()
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	got := next(t, r.snapshots)
	if got.GetSource() != "er" || len(got.GetNodes()) != 3 {
		t.Errorf("source %q, %d nodes; want the whole area from the next router", got.GetSource(), len(got.GetNodes()))
	}
	r.awaitEvent(t, "router-unreachable", "wr")
	r.servers["wr"].Start(t)
	// On request it is tried at once, whatever its backoff.
	out, err := r.client.Refresh(t.Context(), connect.NewRequest(&topologyv1.RefreshRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if wr := out.Msg.GetSnapshot().GetNodes()[0]; wr.GetName() != "wr" || len(wr.GetInterfaces()) != 3 {
		t.Errorf("node %v, want wr with its interfaces", wr)
	}
	r.awaitEvent(t, "router-reachable", "wr")
}

func TestARouterThatDiesLaterKeepsItsPorts(t *testing.T) {
	r := newRig(t, nil)
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	next(t, r.snapshots)
	r.servers["cr"].Stop()
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	if n := len(r.snapshots); n != 0 {
		t.Errorf("the agent of cr died and the network changed: %v", describe(next(t, r.snapshots)))
	}
	r.awaitEvent(t, "router-unreachable", "cr")
}

func TestNoDatabaseAnywhereKeepsTheLast(t *testing.T) {
	r := newRig(t, nil)
	for _, s := range r.servers {
		s.Serve(pathProtocols, "")
	}
	_, err := r.client.Refresh(t.Context(), connect.NewRequest(&topologyv1.RefreshRequest{}))
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "no router shows a link-state database") {
		t.Errorf("error %v", err)
	}
	if n := len(r.snapshots); n != 0 {
		t.Errorf("%d snapshots of nothing", n)
	}
}

func TestASecondAreaIsReadFromARouterInIt(t *testing.T) {
	r := newRig(t, nil)
	other := strings.NewReplacer("0.0.0.0", "0.0.0.1", "10.255.0.", "10.254.0.").Replace(recorded(t, "protocols.json"))
	// cr is in area 1 only: the database of area 0 does not list it.
	without := strings.ReplaceAll(recorded(t, "protocols.json"), "10.255.0.3", "10.255.0.33")
	r.servers["wr"].Serve(pathProtocols, without)
	r.servers["cr"].Serve(pathProtocols, other)
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	a, b := next(t, r.snapshots), next(t, r.snapshots)
	if a.GetArea() != "0.0.0.0" || a.GetSource() != "wr" || b.GetArea() != "0.0.0.1" || b.GetSource() != "cr" {
		t.Errorf("areas %s from %s and %s from %s", a.GetArea(), a.GetSource(), b.GetArea(), b.GetSource())
	}
}

func TestTheClockReads(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.Interval = 5 * time.Millisecond })
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	next(t, r.snapshots)
	r.servers["wr"].Serve(pathInterfaces, ports("ge-er 10.0.12.1/30 200000000"))
	if got := next(t, r.snapshots); got.GetLinks()[0].GetMaxBandwidth() != 200e6 {
		t.Errorf("links %v, want the new speed of wr's port", describe(got))
	}
	if err := r.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestRecordedInterfaces(t *testing.T) {
	got, err := parseInterfaces([]byte(recorded(t, "interfaces.json")))
	if err != nil {
		t.Fatal(err)
	}
	want := []topo.Interface{
		{Name: "ge-a", IfIndex: 2, Up: true, Speed: 100e6, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.1.1/24")}},
		{Name: "ge-b", IfIndex: 3, Up: true, Speed: 100e6, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.2.1/24")}},
		{Name: "lo", IfIndex: 1, Up: true, Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
	}
	if diff := cmp.Diff(got, want, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("interfaces (-got +want):\n%s", diff)
	}
}

func TestPortSpeeds(t *testing.T) {
	for identity, want := range map[string]uint64{
		"openconfig-if-ethernet:SPEED_100MB": 100e6, "SPEED_10GB": 10e9, "SPEED_2500MB": 2500e6, "SPEED_UNKNOWN": 0, "": 0,
	} {
		if got := portSpeed(identity); got != want {
			t.Errorf("%q is %d bit/s, want %d", identity, got, want)
		}
	}
}

func TestDocumentsFromElsewhere(t *testing.T) {
	for name, doc := range map[string]string{
		"not JSON":              `{`,
		"another shape":         `{"protocol":{"identifier":"OSPF"}}`,
		"no OSPF":               `{"protocol":[{"identifier":"openconfig-policy-types:BGP"}]}`,
		"a negative metric":     `{"protocol":[{"identifier":"OSPF","ospfv2":{"areas":{"area":[{"identifier":0,"ted":{"nodes":{"node":[{"links":{"link":[{"state":{"igp-metric":-1}}]}}]}}}]}}}]}`,
		"nodes without ids":     `{"protocol":[{"identifier":"OSPF","ospfv2":{"areas":{"area":[{"identifier":0,"ted":{"nodes":{"node":[{}]}}}]}}}]}`,
		"an address that is no": `{"protocol":[{"identifier":"OSPF","ospfv2":{"areas":{"area":[{"identifier":0,"ted":{"nodes":{"node":[{"state":{"router-id":"x"}}]}}}]}}}]}`,
	} {
		if s, err := parseTED([]byte(doc)); err == nil {
			t.Errorf("%s: %v, want an error", name, s)
		}
	}
	s, err := parseTED([]byte(`{"protocol":[{"identifier":"OSPF","ospfv2":{"areas":{"area":[{"identifier":1,"ted":{"nodes":{"node":[{"state":{"router-id":"1.1.1.1"}}]}}}]}}}]}`))
	if err != nil || s[0].Area != "0.0.0.1" {
		t.Errorf("areas %v, %v: a plain number is a dotted quad", s, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"protocols.json", "interfaces.json"} {
		raw, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, _ = parseInterfaces(doc)
		areas, err := parseTED(doc)
		if err != nil {
			return
		}
		// Whatever parses must survive the bus and be computable on.
		for _, s := range areas {
			back, err := topo.FromProto(s.ToProto())
			if err != nil {
				t.Fatal(err)
			}
			topo.NewGraph(back)
		}
	})
}

func TestFarEnds(t *testing.T) {
	at := netip.MustParseAddr
	a, b := at("1.1.1.1"), at("2.2.2.2")
	one := topo.Link{From: b, To: a, LocalAddress: at("10.0.0.2")}
	two := topo.Link{From: b, To: a, LocalAddress: at("10.0.0.6")}
	named := topo.Link{From: b, To: a, LocalAddress: at("10.0.0.6"), RemoteAddress: at("10.0.0.5")}
	l := topo.Link{From: a, To: b, LocalAddress: at("10.0.0.5")}
	for name, tc := range map[string]struct {
		links []topo.Link
		want  netip.Addr
	}{
		"the only link back":                  {[]topo.Link{one}, at("10.0.0.2")},
		"one of two, neither says which":      {[]topo.Link{one, two}, netip.Addr{}},
		"one of two, which names our address": {[]topo.Link{one, named}, at("10.0.0.6")},
		"no link back":                        {nil, netip.Addr{}},
	} {
		if got := farEnd(tc.links, &l); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
