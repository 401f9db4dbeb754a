package prefixes

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func learnt(text string) Route { return Route{Prefix: netip.MustParsePrefix(text)} }

func installed(text string) Route { return Route{Prefix: netip.MustParsePrefix(text), Installed: true} }

func configured(text string) Route {
	return Route{Prefix: netip.MustParsePrefix(text), Configured: true}
}

func names(routes []Route) []string {
	out := []string{}
	for _, r := range routes {
		out = append(out, r.Prefix.String())
	}
	return out
}

func TestRoutesThatFit(t *testing.T) {
	for _, c := range []struct {
		name       string
		routes     []Route
		limits     Limits
		fits, left []string
	}{
		{"all of few", []Route{learnt("10.0.0.0/8"), learnt("2001:db8::/32")}, Limits{IPv4: 9, IPv6: 9, Lengths: 16}, []string{"10.0.0.0/8", "2001:db8::/32"}, []string{}},
		{"the families have limits of their own", []Route{learnt("10.0.0.0/8"), learnt("10.1.0.0/16"), learnt("2001:db8::/32")},
			Limits{IPv4: 1, IPv6: 1, Lengths: 16}, []string{"10.0.0.0/8", "2001:db8::/32"}, []string{"10.1.0.0/16"}},
		{"what is there stays, though a larger network comes", []Route{learnt("10.0.0.0/8"), installed("10.1.0.0/16")},
			Limits{IPv4: 1, Lengths: 16}, []string{"10.1.0.0/16"}, []string{"10.0.0.0/8"}},
		{"what an operator wrote goes before what is there", []Route{installed("10.0.0.0/8"), configured("10.1.0.0/16")},
			Limits{IPv4: 1, Lengths: 16}, []string{"10.1.0.0/16"}, []string{"10.0.0.0/8"}},
		{"the length that one route has is left out", []Route{learnt("10.0.0.0/24"), learnt("10.0.1.0/24"), learnt("10.0.2.0/25")},
			Limits{IPv4: 9, Lengths: 1}, []string{"10.0.0.0/24", "10.0.1.0/24"}, []string{"10.0.2.0/25"}},
		{"a length that is there stays", []Route{learnt("10.0.0.0/24"), learnt("10.0.1.0/24"), installed("10.0.2.0/25")},
			Limits{IPv4: 9, Lengths: 1}, []string{"10.0.2.0/25"}, []string{"10.0.0.0/24", "10.0.1.0/24"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fits, left := Fit(c.routes, c.limits)
			if d := cmp.Diff([][]string{names(fits), names(left)}, [][]string{c.fits, c.left}); d != "" {
				t.Errorf("fits and left out (-got +want):\n%s", d)
			}
		})
	}
}

// A customer announces 17 lengths, one more than the datapath looks up: 16 of them are shaped, and once he withdraws
// one of those, the last.
func TestAnotherLengthComesWhenOneGoes(t *testing.T) {
	var routes []Route
	for bits := 8; bits < 8+17; bits++ {
		routes = append(routes, learnt(fmt.Sprintf("10.0.0.0/%d", bits)))
	}
	limits := Limits{IPv4: 100, Lengths: 16}
	fits, left := Fit(routes, limits)
	if len(fits) != 16 || len(left) != 1 {
		t.Fatalf("%d fit and %d are left out, want 16 and 1", len(fits), len(left))
	}
	for i := range fits {
		fits[i].Installed = true
	}
	fits, left = Fit(append(fits[1:], left...), limits)
	if len(fits) != 16 || len(left) != 0 {
		t.Errorf("after one was withdrawn %d fit and %d are left out, want all 16", len(fits), len(left))
	}
}

// Routes come out of a map: their order must not decide, and what fitted must go on to fit.
func TestRoutesDoNotTakeTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var routes []Route
		seen := map[netip.Prefix]bool{}
		for range 60 {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(rng.IntN(8)), byte(rng.IntN(256)), 0}), 8+rng.IntN(17)).Masked()
			if !seen[p] {
				routes = append(routes, Route{Prefix: p, Configured: rng.IntN(10) == 0})
			}
			seen[p] = true
		}
		limits := Limits{IPv4: rng.IntN(50), Lengths: 1 + rng.IntN(16)}
		first, _ := Fit(routes, limits)
		rng.Shuffle(len(routes), func(i, j int) { routes[i], routes[j] = routes[j], routes[i] })
		there := map[netip.Prefix]bool{}
		for _, r := range first {
			there[r.Prefix] = true
		}
		for i := range routes {
			routes[i].Installed = there[routes[i].Prefix]
		}
		again, left := Fit(routes, limits)
		if len(again)+len(left) != len(routes) {
			t.Fatalf("%d routes became %d and %d", len(routes), len(again), len(left))
		}
		for _, r := range again {
			if !there[r.Prefix] {
				t.Fatalf("%s fits now and did not before", r.Prefix)
			}
		}
	}
}

func TestShares(t *testing.T) {
	learns, limit := Demand{Learns: true}, func(n int) Demand { return Demand{Limit: n, Learns: true} }
	static := func(n int) Demand { return Demand{Configured: n} }
	for name, c := range map[string]struct {
		table int
		vpns  []Demand
		want  []int
	}{
		"equal ones":                       {100, []Demand{learns, learns}, []int{50, 50}},
		"a limit goes first":               {100, []Demand{limit(40), learns, learns}, []int{40, 30, 30}},
		"limits only":                      {100, []Demand{limit(60), limit(40)}, []int{60, 40}},
		"nothing is left":                  {10, []Demand{limit(10), learns}, []int{10, 0}},
		"nobody":                           {10, nil, []int{}},
		"what is configured has room":      {100, []Demand{{Configured: 80, Learns: true}, learns, learns}, []int{80, 10, 10}},
		"who learns nothing needs no more": {100, []Demand{static(10), learns, learns}, []int{10, 45, 45}},
		"configured routes fit, so none is refused": {100, []Demand{static(70), static(30)}, []int{70, 30}},
		"configured routes that do not fit":         {100, []Demand{static(20), static(90), static(90)}, []int{20, 40, 40}},
	} {
		if d := cmp.Diff(Shares(c.table, c.vpns), c.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
}

// TestSharesAreMaxMin: no VPN that can use more can be given one entry more without taking it from one that has no
// more than it, or from what an operator wrote.
func TestSharesAreMaxMin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		table, vpns := rng.IntN(60), make([]Demand, rng.IntN(6))
		left, floor := table, 0
		for i := range vpns {
			vpns[i] = Demand{Configured: rng.IntN(15), Learns: rng.IntN(2) == 0}
			if rng.IntN(4) == 0 {
				vpns[i].Limit = min(1+rng.IntN(15), left)
				left -= vpns[i].Limit
			}
		}
		got, sum := Shares(table, vpns), 0
		for i, d := range vpns {
			if sum += got[i]; d.Limit == 0 {
				floor += d.Configured
			}
		}
		if sum > table {
			t.Fatalf("%d among %v: %v is more", table, vpns, got)
		}
		spare := table - sum
		for i, d := range vpns {
			switch {
			case d.Limit > 0 && got[i] != d.Limit:
				t.Fatalf("%d among %v: %v keeps no limit", table, vpns, got)
			case d.Limit == 0 && got[i] < d.Configured && floor <= left:
				t.Fatalf("%d among %v: %v refuses what is configured", table, vpns, got)
			case d.Limit > 0 || !d.Learns && got[i] >= d.Configured:
				continue
			}
			for j, other := range vpns { // who has more than the poorer one needs has it by its configuration
				if other.Limit == 0 && got[j] > got[i]+1 && got[j] > min(other.Configured, got[j]) {
					t.Fatalf("%d among %v: %v, %d could give to %d", table, vpns, got, j, i)
				}
			}
			if able := len(vpns); spare >= able && able > 0 {
				t.Fatalf("%d among %v: %v leaves %d", table, vpns, got, spare)
			}
		}
	}
}
