package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/scenario"
)

func TestPlanOfHNTESRedirect(t *testing.T) {
	s := load(t, "hntes-redirect")
	p := newPlan(s, "/out", "/out/bin/millrace")
	golden(t, "hntes-redirect.plan", p.text())
	for _, n := range p.Nodes {
		if n.Router {
			golden(t, n.Name+".frr.conf", n.FRR)
		}
	}
}

func TestPlanWithoutSegmentRoutingAsksForNoMPLS(t *testing.T) {
	s := load(t, "testdata/two-routers.yaml")
	golden(t, "two-routers.plan", newPlan(s, "/out", "/out/bin/millrace").text())
}

func TestDaemonWordsAreFilledIn(t *testing.T) {
	s := load(t, "testdata/two-routers.yaml")
	got := expandDaemons(s, "R2", []scenario.Daemon{{Name: "x", Command: []string{"${millrace}", "--log=${output}/${node}", "${address}"}}}, "/o", "/b")
	want := []scenario.Daemon{{Name: "x", Command: []string{"/b", "--log=/o/R2", "172.31.255.12"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConvergenceIsTheShortestPath(t *testing.T) {
	c := converged(load(t, "hntes-redirect"))
	for _, q := range []struct {
		name, router, prefix string
		want                 []string
	}{
		{"the direct link wins over the detour", "WR", "10.2.1.0/24", []string{"ge-er"}},
		{"a loopback is reached over its own link", "CR", "10.255.0.2/32", []string{"ge-er"}},
		{"a link's subnet is equally far over both its ends", "WR", "10.254.2.0/30", []string{"ge-cr", "ge-er"}},
		{"a router's own subnets need no route", "WR", "10.1.1.0/24", nil},
	} {
		if diff := cmp.Diff(q.want, c.Routes[q.router][q.prefix]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.name, diff)
		}
	}
	if diff := cmp.Diff(map[int][]string{16002: {"ge-er"}, 16003: {"ge-cr"}}, c.Labels["WR"]); diff != "" {
		t.Errorf("labels of WR (-want +got):\n%s", diff)
	}
}
