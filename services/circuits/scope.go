package circuits

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// about is what the circuit of a request is about: the routers at its ends. What names no circuit is about all of them.
func (c *Component) about(ctx context.Context, _ string, request proto.Message) (rights.Things, error) {
	named, ok := request.(interface{ GetId() string })
	if !ok || named.GetId() == "" {
		return rights.Things{Routers: []string{""}}, nil
	}
	record, err := c.ledger.Find(ctx, named.GetId())
	if err != nil {
		return rights.Things{}, answer(err)
	}
	var ends []string
	if err := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		ends = endsOf(c.book.topo, record.GetCircuit().GetTerms())
	}); err != nil {
		return rights.Things{}, answer(err)
	}
	return rights.Things{Routers: ends}, nil
}

// endsOf are the names of the routers at the ends of a circuit, which somebody may have requested by their loopbacks. A
// router that the topology does not have is called as it was then.
func endsOf(t *topo.Graph, terms *circuitsv1.Terms) []string {
	ends := []string{terms.GetFrom(), terms.GetTo()}
	for i, name := range ends {
		if t == nil {
			continue
		}
		if n, err := t.Resolve(name); err == nil {
			ends[i] = n.Label()
		}
	}
	return ends
}

// mayDisplace refuses what takes capacity from a circuit that its requester could not release. It is called while the
// book does not change.
func (b *book) mayDisplace(ctx context.Context, others []displaced) error {
	who, _ := rights.From(ctx)
	for _, d := range others {
		is := d.was.GetCircuit()
		release := rights.Of(circuitsv1connect.CircuitsServiceReleaseProcedure)
		if no := rights.Within(who, release, rights.Things{Routers: endsOf(b.topo, is.GetTerms())}); no != nil {
			return refuse(codePolicy, "setup_priority", "it would displace circuit %s, and %s", is.GetId(), no)
		}
	}
	return nil
}
