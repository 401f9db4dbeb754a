package frr

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/services/routeragent/intent"
)

// The transcript is of FRR 8.4.4 on three routers: wr (10.255.0.1) - er (.2) cost 10, er - cr (.3) cost
// 10, wr - cr cost 20, so that wr has two equal ways to cr. An LSP te-lsp-7 over cr is configured on wr.
func transcript(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/frr-8.4.4-three-routers.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestDatabaseOfRealFRRIsRead(t *testing.T) {
	db, err := ParseDatabase(transcript(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0.0.0.0"}, db.AreaNames()); diff != "" {
		t.Errorf("areas (-want +got):\n%s", diff)
	}
	want := &Node{
		ID: addr("10.255.0.2"), Loopback: addr("10.255.0.2"), SRGBLower: 16000, SRGBSize: 8000, Index: 2, HasSID: true,
		Prefixes: []Prefix{
			{netip.MustParsePrefix("10.0.12.0/30"), 10}, {netip.MustParsePrefix("10.0.23.0/30"), 10},
			{netip.MustParsePrefix("10.255.0.2/32"), 0}, {netip.MustParsePrefix("198.51.100.0/24"), 10},
		},
		Links: []Link{
			{Local: addr("10.0.12.2"), Remote: addr("10.0.12.1"), Neighbor: addr("10.255.0.1"), Metric: 10, TEMetric: 10, Bandwidth: 1410065408},
			{Local: addr("10.0.23.2"), Remote: addr("10.0.23.1"), Neighbor: addr("10.255.0.3"), Metric: 10, TEMetric: 10, Bandwidth: 1410065408},
		},
	}
	got := db.Areas["0.0.0.0"][addr("10.255.0.2")]
	opts := cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.IgnoreFields(Link{}, "Adjacency")}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("er (-want +got):\n%s", diff)
	}
	if got.Links[0].Adjacency == 0 {
		t.Error("the adjacency SID of er to wr was not read")
	}
}

func TestResolve(t *testing.T) {
	db, err := ParseDatabase(transcript(t))
	if err != nil {
		t.Fatal(err)
	}
	adjacency := func(router, local string) uint32 { return db.link(addr(router), addr(local)).Adjacency }
	hop := func(a string, strict bool) intent.Hop { return intent.Hop{Address: addr(a), Strict: strict} }
	for _, c := range []struct {
		name string
		hops []intent.Hop
		want []uint32
		err  string
	}{
		{name: "loose hops are node SIDs", hops: []intent.Hop{hop("10.255.0.3", false), hop("10.255.0.2", false)}, want: []uint32{16003, 16002}},
		{name: "a strict hop that the IGP would reach two ways is the link's adjacency SID",
			hops: []intent.Hop{hop("10.255.0.3", true), hop("10.255.0.2", true)}, want: []uint32{adjacency("10.255.0.1", "10.0.13.1"), 16002}},
		{name: "a strict hop that the IGP reaches only directly is a node SID", hops: []intent.Hop{hop("10.255.0.2", true)}, want: []uint32{16002}},
		{name: "an interface address names its router", hops: []intent.Hop{hop("10.0.12.2", true), hop("10.255.0.3", false)}, want: []uint32{16002, 16003}},
		{name: "the router itself is no hop", hops: []intent.Hop{hop("10.255.0.1", true), hop("10.255.0.2", true)}, want: []uint32{16002}},
		{name: "an address nobody has", hops: []intent.Hop{hop("192.0.2.99", true)}, err: "no router"},
		{name: "a path that stays here", hops: []intent.Hop{hop("10.255.0.1", true)}, err: "does not leave"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := db.Resolve(c.hops)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrictHopBetweenRoutersWithoutALinkIsRefused(t *testing.T) {
	db, err := ParseDatabase(transcript(t))
	if err != nil {
		t.Fatal(err)
	}
	area := db.Areas["0.0.0.0"]
	area[db.Self].Links = area[db.Self].Links[:1] // only the link to er
	_, err = db.Resolve([]intent.Hop{{Address: addr("10.255.0.3"), Strict: true}})
	if err == nil || !strings.Contains(err.Error(), "no link") {
		t.Errorf("error %v, want one about the missing link", err)
	}
}

func tunnel(name string, id int) intent.Tunnel {
	return intent.Tunnel{Name: name, Path: "te-p7", ID: id, Destination: addr("10.255.0.2")}
}

func TestConfigurationLinesForAndAgainstAnLSP(t *testing.T) {
	_, config, _ := strings.Cut(transcript(t), "Current configuration:")
	have := parseRunning(config)
	if len(have.lists) != 1 || len(have.policies) != 1 || len(have.routes) != 1 {
		t.Fatalf("objects of the transcript: %+v, want one of each", have)
	}
	want := desired([]intent.Tunnel{tunnel("te-lsp-8", 2)}, map[string][]uint32{"te-lsp-8": {16003, 16002}})
	list := "te-lsp-8_" + sum([]uint32{16003, 16002})
	add := []string{
		"segment-routing", " traffic-eng",
		"  segment-list " + list, "   index 10 mpls label 16003", "   index 20 mpls label 16002", "  exit",
		"  policy color 2 endpoint 10.255.0.2", "   name te-lsp-8",
		"   candidate-path preference 100 name te-p7 explicit segment-list " + list, "  exit",
		" exit", "exit",
		"ip route 0.0.0.0/0 10.255.0.2 table 20002 color 2",
	}
	if diff := cmp.Diff(add, additions(have, want)); diff != "" {
		t.Errorf("additions (-want +got):\n%s", diff)
	}
	remove := []string{
		"no ip route 0.0.0.0/0 10.255.0.2 table 20001 color 1",
		"segment-routing", " traffic-eng", "  no policy color 1 endpoint 10.255.0.2", "  no segment-list te-lsp-7", " exit", "exit",
	}
	if diff := cmp.Diff(remove, removals(have, want)); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
	if left := additions(want, want); len(left) > 0 {
		t.Errorf("what is there is added again: %q", left)
	}
}

func TestOnlyOurObjectsAreTouched(t *testing.T) {
	have := parseRunning(`
ip route 0.0.0.0/0 192.0.2.1
ip route 0.0.0.0/0 192.0.2.1 table 100
segment-routing
 traffic-eng
  segment-list operators-own
   index 10 mpls label 16003
  exit
  policy color 9 endpoint 10.255.0.9
   name gold
   candidate-path preference 100 name gold explicit segment-list operators-own
  exit
 exit
exit
`)
	if lines := removals(have, newObjects()); len(lines) > 0 {
		t.Errorf("an operator's objects would be removed: %q", lines)
	}
}

func TestComplaintsOfVtysh(t *testing.T) {
	for out, want := range map[string]string{
		"% Can't open configuration file /etc/frr/wr/vtysh.conf due to 'No such file or directory'.\n": "",
		"% Configuration failed.\n\nError type: validation\n":                                          "% Configuration failed.; Error type: validation",
		"line 3: % Unknown command[4]: foo bar\n":                                                      "line 3: % Unknown command[4]: foo bar",
		"Building configuration...\n":                                                                  "",
	} {
		if got := complaints(out); got != want {
			t.Errorf("complaints in %q: %q, want %q", out, got, want)
		}
	}
}

func FuzzParseDatabase(f *testing.F) {
	raw, err := os.ReadFile("testdata/frr-8.4.4-three-routers.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw))
	f.Add(`{"ted":{"edges":[{}]}}{"srNodes":[{}]}{"routerLinkStates":{"areas":{"x":[{}]}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		if db, err := ParseDatabase(s); err == nil {
			_, _ = db.Resolve([]intent.Hop{{Address: netip.AddrFrom4([4]byte{10, 255, 0, 2}), Strict: true}})
		}
	})
}
