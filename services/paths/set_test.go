package paths

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/topo"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
)

func TestComputeSetAnswersWithWeights(t *testing.T) {
	client, _ := start(t, testbed())
	r, err := client.ComputeSet(t.Context(), connect.NewRequest(&pathsv1.ComputeSetRequest{From: "wr", To: "er", Bandwidth: 150e6, MaxPaths: 2}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.Msg.GetPaths() {
		if got = append(got, strings.Join(p.GetPath().GetNodes(), "-")); p.GetWeight() != 1 || p.GetBandwidth() != 100e6 || len(p.GetPath().GetSegments()) == 0 {
			t.Errorf("%v", p)
		}
	}
	if !slices.Equal(got, []string{"wr-er", "wr-cr-er"}) || r.Msg.GetBandwidth() != 200e6 || !strings.Contains(r.Msg.GetReason(), "200Mbit/s of 150Mbit/s requested") {
		t.Errorf("paths %v with %d bit/s: %s", got, r.Msg.GetBandwidth(), r.Msg.GetReason())
	}
	apart, err := client.ComputeSet(t.Context(), connect.NewRequest(&pathsv1.ComputeSetRequest{From: "wr", To: "er", Bandwidth: 90e6, MaxPaths: 2, AvoidShortest: true}))
	if err != nil || len(apart.Msg.GetPaths()) != 1 || len(apart.Msg.GetPaths()[0].GetPath().GetNodes()) != 3 {
		t.Errorf("off the shortest path: %v (%v)", apart, err)
	}
}

func TestASetThatCannotBeSaysWhy(t *testing.T) {
	client, _ := start(t, testbed())
	for want, r := range map[string]*pathsv1.ComputeSetRequest{
		"failed_precondition: no path: no set of at most 2 paths from wr to er has 201Mbit/s: those found have 200Mbit/s together, and no number of paths has more than 200Mbit/s": {From: "wr", To: "er", Bandwidth: 201e6, MaxPaths: 2},
		"failed_precondition: no path: no set of at most 1 paths": {From: "wr", To: "er", Bandwidth: 150e6, MaxPaths: 1},
		"invalid_argument: a set of paths is for a bandwidth":     {From: "wr", To: "er", MaxPaths: 1},
		"invalid_argument: at most 17 paths":                      {From: "wr", To: "er", Bandwidth: 1, MaxPaths: 17},
		"invalid_argument: 16 segments":                           {From: "wr", To: "er", Bandwidth: 1, MaxPaths: 1, MaxSegments: 16},
		"invalid_argument: both ends are wr":                      {From: "wr", To: "wr", Bandwidth: 1, MaxPaths: 1},
		"not_found":                                               {From: "wr", To: "er", Bandwidth: 1, MaxPaths: 1, ExcludeLinks: []string{"none"}},
	} {
		if _, err := client.ComputeSet(t.Context(), connect.NewRequest(r)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// A search that gives up says no for this pair; the request was valid.
func TestASearchThatGivesUpFindsNoPath(t *testing.T) {
	s := testbed()
	var parallel []topo.Link
	for _, l := range s.Links {
		for i := range 20 {
			twin := l
			twin.ID = fmt.Sprintf("%s-%d", l.ID, i)
			parallel = append(parallel, twin)
		}
	}
	s.Links = append(s.Links, parallel...)
	client, _ := start(t, s)
	_, err := client.ComputeSet(t.Context(), connect.NewRequest(&pathsv1.ComputeSetRequest{From: "wr", To: "er", Bandwidth: 150e6, MaxPaths: 2, MaxSegments: 1}))
	want := "failed_precondition: no path: the search from wr to er for paths of few segments gave up"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// A link that costs more than the detour is pinned by its adjacency SID, once its router has one.
func TestSegmentsOfADearLink(t *testing.T) {
	s := testbed()
	for i := range s.Links {
		if l := &s.Links[i]; l.ID == "10.255.0.1|10.0.1.1" {
			l.Metric, l.AdjacencySID = 100, 15001
		}
	}
	client, _ := start(t, s)
	r, err := client.Segments(t.Context(), connect.NewRequest(&pathsv1.SegmentsRequest{Links: []string{"10.255.0.1|10.0.1.1"}}))
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Msg.GetPath(); !slices.Equal(p.GetSegments(), []string{"10.0.1.2"}) || !slices.Equal(p.GetAdjacencies(), p.GetSegments()) {
		t.Errorf("segments %v, of which %v are links", p.GetSegments(), p.GetAdjacencies())
	}
}
