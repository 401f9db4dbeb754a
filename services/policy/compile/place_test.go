package compile_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// layout lists the plan by place: by router, each filter's interfaces, and the ports with queues.
func layout(result compile.Result) map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for _, plan := range result.Plans {
		at := map[string][]string{}
		for _, f := range plan.Filters {
			at[f.Name] = f.Interfaces
		}
		for _, p := range plan.Ports {
			at["queues"] = append(at["queues"], p.Interface)
		}
		for _, p := range plan.Policers {
			at["policer "+p.Name] = p.Interfaces
		}
		out[plan.Router] = at
	}
	return out
}

// withNeighbours is hntes-redirect with a class, a policer, a managed router off the LSP, one of which no
// interface is known, and one that is not managed.
func withNeighbours(t *testing.T, ports document.Ports) compile.Input {
	in := policytest.Read(t, "hntes-redirect")
	in.Policy.Ports = ports
	in.Policy.Classes = []document.Class{{Name: "bulk", Queue: "beta", Match: []document.Match{{DSCP: []document.DSCP{8}}}}}
	in.Policy.Policers = []document.Policer{{Name: "alpha", Queue: "alpha", At: document.WhereAll, Rate: 1e6, Burst: 1e4}}
	in.Routers = append(in.Routers, compile.Router{Name: "a-router-without-interfaces", Managed: true})
	for _, r := range []compile.Router{{Name: "off", Managed: true}, {Name: "other"}} {
		r.Interfaces = []compile.Interface{
			{Name: "core", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.99.1/30")}},
			{Name: "customer", Addresses: []netip.Prefix{netip.MustParsePrefix("203.0.113.1/26")}},
		}
		in.Routers = slices.Insert(in.Routers, 0, r)
		in.Links = append(in.Links, compile.Link{ID: r.Name, From: r.Name, To: "nobody", Egress: "core", Ingress: "none"})
	}
	return in
}

// Classes stand behind the redirects in their filters, and alone on the other ports. Policers stand where packets of
// their queue enter. With ports: path, routers that no LSP crosses have nothing.
func TestWhereClassesPolicersAndQueuesStand(t *testing.T) {
	onPath := map[string]map[string][]string{
		"wr": {"ingress": {"ge-w1", "ge-wa"}, "core": {"ge-cr", "ge-er"}, "queues": {"ge-cr", "ge-er"}, "policer alpha": {"ge-w1", "ge-wa"}},
		"cr": {"transit": {"ge-wr"}, "core": {"ge-er"}, "queues": {"ge-er"}, "policer alpha": {"ge-wr"}},
		"er": {"transit": {"ge-cr"}, "core": {"ge-wr"}, "edge": {"ge-e1", "ge-ea"}, "queues": {"ge-e1", "ge-ea"}, "policer alpha": {"ge-cr"}},
	}
	everywhere := map[string]map[string][]string{"off": {"core": {"core"}, "edge": {"customer"}, "queues": {"core"}}}
	for router, at := range onPath {
		everywhere[router] = map[string][]string{}
		for what, where := range at {
			everywhere[router][what] = where
		}
	}
	everywhere["wr"]["queues"] = []string{"ge-cr", "ge-er"}
	everywhere["cr"]["queues"] = []string{"ge-er", "ge-wr"}
	everywhere["er"]["queues"] = []string{"ge-cr", "ge-wr"}
	for _, c := range []struct {
		name  string
		ports document.Ports
		want  map[string]map[string][]string
	}{{"path", document.PortsPath, onPath}, {"core", document.PortsCore, everywhere}} {
		t.Run(c.name, func(t *testing.T) {
			got, err := compile.Compile(withNeighbours(t, c.ports))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(layout(got), c.want); diff != "" {
				t.Errorf("places (-got +want):\n%s", diff)
			}
		})
	}
}

// A customer is behind an interface with a subnet that is neither a link's nor the management network.
func TestCustomerPorts(t *testing.T) {
	prefixes := func(list ...string) []netip.Prefix {
		var out []netip.Prefix
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	for name, c := range map[string]struct {
		addresses []netip.Prefix
		customer  bool
	}{
		"a subnet":                         {prefixes("203.0.113.1/26"), true},
		"an IPv6 subnet":                   {prefixes("fe80::1/64", "2001:db8::1/64"), true},
		"a subnet, then link-local":        {prefixes("2001:db8::1/64", "fe80::1/64"), true},
		"a subnet and one more address":    {prefixes("203.0.113.1/26", "203.0.113.2/32"), true},
		"no address":                       {nil, false},
		"link-local addresses only":        {prefixes("fe80::1/64"), false},
		"a host address only":              {prefixes("203.0.113.1/32"), false},
		"127.0.0.1":                        {prefixes("127.0.0.1/8", "203.0.113.1/26"), false},
		"the router's loopback":            {prefixes("10.255.0.9/24"), false},
		"the management address":           {prefixes("10.254.0.9/24"), false},
		"a neighbour of the management's":  {prefixes("10.254.0.8/24"), true},
		"a loopback address after another": {prefixes("203.0.113.1/26", "10.255.0.9/32"), false},
	} {
		in := policytest.Read(t, "hntes-redirect")
		in.Pairs = nil
		in.Policy.Ports = document.PortsAll
		in.Routers = []compile.Router{{
			Name: "r", Managed: true, Loopback: netip.MustParseAddr("10.255.0.9"), Management: netip.MustParseAddr("10.254.0.9"),
			Interfaces: []compile.Interface{{Name: "i", Addresses: c.addresses}},
		}}
		in.Links = nil
		got, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		if customer := len(got.Plans) == 1; customer != c.customer {
			t.Errorf("%s: a customer is behind it: %v, want %v", name, customer, c.customer)
		}
	}
}

// A topology can know a link before it knows the interfaces at its ends, and links of routers that are not managed.
func TestLinksOfWhichLittleIsKnown(t *testing.T) {
	in := withNeighbours(t, document.PortsCore)
	want, err := compile.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Links = append(slices.Clone(in.Links), compile.Link{ID: "a", From: "wr", To: "er"}, compile.Link{ID: "b", From: "x", To: "y", Egress: "e", Ingress: "i"},
		compile.Link{ID: "c", From: "x", To: "wr", Egress: "e"}, compile.Link{ID: "d", From: "wr", To: "y", Ingress: "i"})
	got, err := compile.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(layout(got), layout(want)); diff != "" {
		t.Errorf("places (-with the links +without):\n%s", diff)
	}
}
