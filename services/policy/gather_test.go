package policy

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// flapping answers with one topology, of which the link from cr to er is missing in some answers.
type flapping struct {
	pathsv1connect.PathsServiceClient
	down  func(question int) bool
	asked int
}

func (f *flapping) Topology(ctx context.Context, req *connect.Request[pathsv1.TopologyRequest]) (*connect.Response[pathsv1.TopologyResponse], error) {
	r, err := f.PathsServiceClient.Topology(ctx, req)
	if f.asked++; err == nil && f.down(f.asked) {
		s := r.Msg.GetSnapshot()
		s.Links = slices.DeleteFunc(s.GetLinks(), func(l *topologyv1.Link) bool { return l.GetId() == "10.255.0.3|10.0.23.1" })
	}
	return r, err
}

// TestAPlanIsOfOneTopology: one that changes while a plan is made is looked at again, and no pair is left out for it.
func TestAPlanIsOfOneTopology(t *testing.T) {
	for _, c := range []struct {
		name    string
		down    func(question int) bool
		asked   int
		refused bool
	}{
		{"it stays", func(int) bool { return false }, 2, false},
		{"a link comes back", func(n int) bool { return n == 1 }, 4, false},
		{"a link goes", func(n int) bool { return n == 2 }, 2, false},
		{"a link is there for the paths alone", func(n int) bool { return n <= 2 }, 4, false},
		{"a link comes and goes", func(n int) bool { return n%2 == 1 }, 6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, component := startWith(t, DefaultConfiguration(), pair("p", "192.0.2.2/32", "198.51.100.2/32", "10.254.0.11"))
			paths := &flapping{PathsServiceClient: component.deps.Paths, down: c.down}
			component.deps.Paths = paths
			r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "hntes-two-queue"}))
			switch {
			case c.refused && (connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "links came")):
				t.Errorf("%v, want code unavailable", err)
			case !c.refused && (err != nil || len(r.Msg.GetSkipped()) > 0):
				t.Errorf("%v, skipped %v", err, r.Msg.GetSkipped())
			}
			if paths.asked != c.asked {
				t.Errorf("the topology was read %d times, want %d", paths.asked, c.asked)
			}
		})
	}
}
