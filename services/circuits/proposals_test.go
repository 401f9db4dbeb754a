package circuits

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/device"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// alphas is services/alpha with these pairs, or one that does not answer.
type alphas struct {
	alphav1connect.AlphaServiceClient
	pairs []*alphav1.Pair
	err   error
}

// List implements AlphaServiceClient.
func (a alphas) List(context.Context, *connect.Request[alphav1.ListRequest]) (*connect.Response[alphav1.ListResponse], error) {
	return connect.NewResponse(&alphav1.ListResponse{Pairs: a.pairs}), a.err
}

// seen is a pair that sent 30 GB in one minute of the evening before.
func seen(id, src, dst, exporter string) *alphav1.Pair {
	last := timestamppb.New(noon.Add(-13 * time.Hour))
	return &alphav1.Pair{
		Id: id, Src: src, Dst: dst, Exporter: exporter, LastAlpha: last,
		Evidence: []*alphav1.Evidence{{IntervalStart: last, Interval: durationpb.New(time.Minute), Bytes: 30 * giga}},
	}
}

func (w *world) proposals(c *Component, project string) ([]*circuitsv1.Proposal, error) {
	r, err := (&api{c}).Proposals(w.t.Context(), connect.NewRequest(&circuitsv1.ProposalsRequest{Project: project}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetProposals(), nil
}

// What is proposed can be requested as it is, and is not proposed again while that circuit has capacity.
func TestAnAlphaPairIsProposed(t *testing.T) {
	w := newWorld(t)
	w.owned = map[string]string{"b": "198.51.100.0/24"}
	astro := w.cfg.Projects["astro"]
	astro.Prefixes = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	w.cfg.Projects["astro"] = astro
	c := w.start()
	c.deps.Inventory = &device.Inventory{Devices: []device.Device{{Name: "a", Exporters: []netip.Addr{netip.MustParseAddr("203.0.113.9")}}}}
	c.deps.Alpha = alphas{pairs: []*alphav1.Pair{
		seen("p1", "192.0.2.0/26", "198.51.100.0/24", "203.0.113.9"), seen("p2", "192.0.2.0/26", "203.0.113.128/25", "203.0.113.9"), seen("p3", "192.0.2.64/26", "198.51.100.0/24", "203.0.113.7"),
		seen("p4", "192.0.2.64/26", "198.51.100.0/24", routers["b"]), seen("p5", "203.0.113.0/25", "198.51.100.0/24", "203.0.113.9"), seen("p6", "192.0.2.0", "198.51.100.0/24", "203.0.113.9"),
	}}
	got, err := w.proposals(c, "astro")
	if err != nil || len(got) != 4 {
		t.Fatalf("%v, %v", got, err)
	}
	want := &circuitsv1.Terms{
		Project: "astro", From: "a", To: "b", RateBitsPerSecond: 4 * giga, Description: "alpha pair p1",
		Start: timestamppb.New(noon.Add(11 * time.Hour)), End: timestamppb.New(noon.Add(11*time.Hour + 15*time.Minute)),
		Pairs: []*circuitsv1.PrefixPair{{Source: "192.0.2.0/26", Destination: "198.51.100.0/24"}},
	}
	if !proto.Equal(got[0].GetTerms(), want) || got[0].GetPair() != "p1" || got[0].GetDays() != 1 || !got[0].GetLastAlpha().AsTime().Equal(noon.Add(-13*time.Hour)) {
		t.Errorf("proposed %v, want %v", got[0], want)
	}
	for i, problem := range []string{"0 routers of the topology originate 203.0.113.128/25", "exporter 203.0.113.7 is no router of the topology, by the inventory or by its loopback", "it enters and leaves at router b"} {
		if g := got[i+1]; g.GetTerms() != nil || g.GetProblem() != problem {
			t.Errorf("%s: %v, want %q", g.GetPair(), g, problem)
		}
	}
	booked := w.booked(c, "1", got[0].GetTerms())
	if got, err := w.proposals(c, "astro"); err != nil || len(got) != 3 || got[0].GetPair() != "p2" {
		t.Errorf("while a circuit is for it: %v, %v", got, err)
	}
	if _, err := (&api{c}).Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: booked.GetId(), By: "ann"})); err != nil {
		t.Fatal(err)
	}
	if got, err := w.proposals(c, "astro"); err != nil || len(got) != 4 {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	some := proto.CloneOf(want)
	some.Pairs[0].Protocol, some.Pairs[0].DestinationPorts = "udp", "7"
	w.booked(c, "2", some)
	if got, err := w.proposals(c, "astro"); err != nil || len(got) != 4 {
		t.Errorf("with a circuit for some of its flows: %v, %v", got, err)
	}
	if got, err := w.proposals(c, "bio"); err != nil || len(got) != 0 {
		t.Errorf("of a project without prefixes: %v, %v", got, err)
	}
}

func TestNobodyKnowsOfAlphaPairs(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	if _, err := w.proposals(c, "astro"); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without services/alpha: %v", err)
	}
	c.deps.Alpha = alphas{err: connect.NewError(connect.CodeUnavailable, errors.New("away"))}
	if _, err := w.proposals(c, "astro"); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("while it is away: %v", err)
	}
	if _, err := w.proposals(c, "nobody"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("of no project: %v", err)
	}
}
