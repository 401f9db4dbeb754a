package circuits

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/propose"
)

var errNoAlpha = errors.New("there is no services/alpha that knows of huge transfers; host it, or give its endpoint")

// Proposals implements CircuitsService.
func (a *api) Proposals(ctx context.Context, r *connect.Request[circuitsv1.ProposalsRequest]) (*connect.Response[circuitsv1.ProposalsResponse], error) {
	project, known := a.c.cfg.Projects[r.Msg.GetProject()]
	switch {
	case !known:
		return nil, noProject(r.Msg.GetProject())
	case a.c.deps.Alpha == nil:
		return nil, answer(errNoAlpha)
	}
	list, err := a.c.deps.Alpha.List(ctx, connect.NewRequest(&alphav1.ListRequest{}))
	if err != nil {
		return nil, answer(fmt.Errorf("alpha pairs are not known now: %w", err))
	}
	pairs, of := pairsOf(list.Msg.GetPairs())
	out := &circuitsv1.ProposalsResponse{}
	looked := a.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		b := a.c.book
		if err = b.seen(); err != nil {
			return
		}
		for _, p := range propose.Of(project.Prefixes, pairs, b.steered(), a.c.deps.Now()) {
			made := &circuitsv1.Proposal{Pair: p.ID, LastAlpha: of[p.ID].GetLastAlpha(), Days: int32(p.Days)}
			made.Terms, made.Problem = a.c.termsFor(r.Msg.GetProject(), p)
			out.Proposals = append(out.Proposals, made)
		}
	})
	if err := errors.Join(looked, err); err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(out), nil
}

func noProject(name string) error {
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no project %.100q; an operator adds it to circuits.projects", name))
}

// pairsOf are pairs as propose has them, and by their ids as they came. What cannot be read is left out.
func pairsOf(list []*alphav1.Pair) (out []propose.Pair, by map[string]*alphav1.Pair) {
	by = map[string]*alphav1.Pair{}
	for _, m := range list {
		p := propose.Pair{ID: m.GetId()}
		prefixes, ok := prefixesOf(m.GetSrc(), m.GetDst())
		exporter, err := netip.ParseAddr(m.GetExporter())
		if !ok || err != nil {
			continue
		}
		p.Prefixes, p.Exporter = prefixes, exporter
		for _, e := range m.GetEvidence() {
			p.Evidence = append(p.Evidence, propose.Burst{Start: e.GetIntervalStart().AsTime(), Interval: e.GetInterval().AsDuration(), Bytes: e.GetBytes()})
		}
		out, by[p.ID] = append(out, p), m
	}
	return out, by
}

func prefixesOf(source, destination string) (propose.Prefixes, bool) {
	src, err := netip.ParsePrefix(source)
	dst, err2 := netip.ParsePrefix(destination)
	return propose.Prefixes{Src: src, Dst: dst}, err == nil && err2 == nil
}

// steered are the pairs of all circuits that have capacity, but for those of some flows only.
func (b *book) steered() (out []propose.Prefixes) {
	for _, r := range b.records {
		for _, p := range r.GetCircuit().GetTerms().GetPairs() {
			if prefixes, ok := prefixesOf(p.GetSource(), p.GetDestination()); ok && p.GetProtocol() == "" {
				out = append(out, prefixes)
			}
		}
	}
	return out
}

// termsFor is a request for a proposal, or why there is none. It is called while the book does not change.
func (c *Component) termsFor(project string, p propose.Proposal) (*circuitsv1.Terms, string) {
	from := c.exporterOf(p.Exporter)
	owners := c.book.topo.PrefixOwners(p.Dst)
	switch {
	case from == "":
		return nil, fmt.Sprintf("exporter %s is no router of the topology, by the inventory or by its loopback", p.Exporter)
	case len(owners) != 1:
		return nil, fmt.Sprintf("%d routers of the topology originate %s", len(owners), p.Dst)
	case owners[0].Label() == from:
		return nil, fmt.Sprintf("it enters and leaves at router %s", from)
	}
	return &circuitsv1.Terms{
		Project: project, From: from, To: owners[0].Label(), RateBitsPerSecond: p.Rate, Start: timestamppb.New(p.Start), End: timestamppb.New(p.End),
		Pairs: []*circuitsv1.PrefixPair{{Source: p.Src.String(), Destination: p.Dst.String()}}, Description: "alpha pair " + p.ID,
	}, ""
}

// exporterOf is the router that exports flows from an address, empty if none is known.
func (c *Component) exporterOf(a netip.Addr) string {
	name := a.String()
	if c.deps.Inventory != nil {
		if d, known := c.deps.Inventory.ByExporter(a); known {
			name = d.Name
		}
	}
	n, err := c.book.topo.Resolve(name)
	if err != nil {
		return ""
	}
	return n.Label()
}
