package offline

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

const twoRouters = `routers:
  - {name: a, loopback: 10.255.0.1, interfaces: [{name: to-b, addresses: [10.0.0.0/31]}]}
  - {name: b, loopback: 10.255.0.2, interfaces: [{name: to-a, addresses: [10.0.0.1/31]}]}
`

func TestNamesInANetworkMustFitEachOther(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"a router twice", twoRouters + "  - {name: a}\n", `routers[2]: the name "a" is empty or there twice`},
		{"a link to nobody", twoRouters + "links: [{from: a, to: c, egress: to-b}]\n", `links[0]: there is no router "c"`},
		{"a link from no interface", twoRouters + "links: [{from: a, to: b, egress: to-c}]\n", `links[0]: router a has no interface "to-c"`},
		{"an unknown field", twoRouters + "link: []\n", `unknown field "link"`},
		{"no YAML", "routers: [\n", "read the network"},
		{"a rate without its unit", "routers: [{name: a, interfaces: [{name: x, speed: 10}]}]\n", "10"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestALinkIsTwoDirections(t *testing.T) {
	n, err := Parse([]byte(twoRouters + "links: [{from: a, to: b, egress: to-b, ingress: to-a, bandwidth: 1Gbit/s}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Link{
		{ID: "a|to-b|b", From: "a", To: "b", Egress: "to-b", Ingress: "to-a", Bandwidth: 1e9, Metric: 10},
		{ID: "b|to-a|a", From: "b", To: "a", Egress: "to-a", Ingress: "to-b", Bandwidth: 1e9, Metric: 10},
	}
	if diff := cmp.Diff(n.Links, want); diff != "" {
		t.Errorf("links (-got +want):\n%s", diff)
	}
}

// fixed gives prefixes these owners; of several routers far is the furthest.
type fixed map[string][]string

func (f fixed) PrefixOwners(p netip.Prefix) []string { return f[p.String()] }

func (f fixed) Path(compile.Demand) (compile.Path, error) {
	return compile.Path{}, errors.New("no path")
}

func (f fixed) Set(compile.Demand) ([]compile.Weighted, error) { return nil, errors.New("no set") }

func (f fixed) Segments([]string) (compile.Path, error) {
	return compile.Path{}, errors.New("no segments")
}

func (f fixed) ECMP(e compile.RouterPair) ([]compile.Path, error) {
	if e.To == "far" {
		return []compile.Path{{Links: []string{"1", "2"}}}, nil
	}
	return []compile.Path{{Links: []string{"1"}}}, nil
}

func TestPairsAreMappedToTheRoutersThatOriginateTheirPrefixes(t *testing.T) {
	between := func(src, dst string) document.Between {
		return document.Between{Source: document.Prefix{Prefix: netip.MustParsePrefix(src)}, Destination: document.Prefix{Prefix: netip.MustParsePrefix(dst)}}
	}
	p := document.Policy{Redirect: []document.Redirect{{Queue: "alpha", Between: []document.Between{
		between("192.0.2.0/24", "198.51.100.0/24"), between("203.0.113.0/24", "198.51.100.0/24"), between("192.0.2.0/24", "203.0.113.0/24"),
	}}}}
	in := (&Network{Links: []Link{{ID: "1", Metric: 10}, {ID: "2", Metric: 10}}}).Input(p, fixed{"192.0.2.0/24": {"a", "near"}, "198.51.100.0/24": {"far", "near"}})
	var got []string
	for _, pair := range in.Pairs {
		got = append(got, strings.Join([]string{pair.Src.String(), pair.Dst.String(), pair.Ingress, pair.Egress, pair.Unmapped}, " "))
	}
	want := []string{
		"192.0.2.0/24 198.51.100.0/24 a near ", "192.0.2.0/24 198.51.100.0/24 near near ",
		"203.0.113.0/24 198.51.100.0/24   no router originates 203.0.113.0/24",
		"192.0.2.0/24 203.0.113.0/24 a  no router originates 203.0.113.0/24", "192.0.2.0/24 203.0.113.0/24 near  no router originates 203.0.113.0/24",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("pairs (-got +want):\n%s", diff)
	}
	if len(in.ECMP) != 1 {
		t.Errorf("equal-cost paths %v, want those from a to near", in.ECMP)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../../policies/golden/*/network.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no networks: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := Parse(raw)
		if (n == nil) == (err == nil) {
			t.Fatalf("network %v with error %v", n, err)
		}
	})
}
