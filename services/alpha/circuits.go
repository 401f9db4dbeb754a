package alpha

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/alpha/circuit"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/circuits/traffic"
)

// inForce are the states of circuits that services/policy plans for: their ingress router has their rules, or is being
// given them.
var inForce = []circuitsv1.State{
	circuitsv1.State_STATE_PROVISIONING, circuitsv1.State_STATE_ACTIVE, circuitsv1.State_STATE_INTERRUPTED,
}

// circuitsPage is the most that services/circuits lists at once.
const circuitsPage = 1000

// circuits queries services/circuits for those that had capacity booked in the window, in any state.
// Without services/circuits there are none.
func (c *Component) circuits(ctx context.Context, o order) (out []circuit.Circuit, err error) {
	if c.deps.Circuits == nil {
		return nil, nil
	}
	ask := &circuitsv1.ListRequest{Start: timestamppb.New(o.from), End: timestamppb.New(o.to.Add(o.rule.Interval)), PageSize: circuitsPage}
	for {
		r, err := c.deps.Circuits.List(ctx, connect.NewRequest(ask))
		if err != nil {
			return nil, err
		}
		for _, m := range r.Msg.GetCircuits() {
			out = append(out, c.circuitFromProto(m))
		}
		if ask.PageToken = r.Msg.GetNextPageToken(); ask.PageToken == "" {
			return out, nil
		}
	}
}

// circuitFromProto leaves out what cannot be read: flows of it are judged as those of no circuit.
func (c *Component) circuitFromProto(m *circuitsv1.Circuit) circuit.Circuit {
	out := circuit.Circuit{ID: m.GetId(), Exporters: c.ingress(m)}
	for _, p := range m.GetTerms().GetPairs() {
		if match, err := traffic.Read(p); err == nil {
			out.Traffic = append(out.Traffic, match)
		}
	}
	var history []circuit.State
	for _, h := range m.GetHistory() {
		history = append(history, circuit.State{From: h.GetTime().AsTime(), InForce: slices.Contains(inForce, h.GetState())})
	}
	out.InForce = circuit.InForce(history)
	return out
}

// ingress are the addresses that a circuit's first router exports flows from. Terms have its name, its router id or
// its loopback, as the client gave it; hops have its router id.
func (c *Component) ingress(m *circuitsv1.Circuit) []netip.Addr {
	names := []string{m.GetTerms().GetFrom()}
	if path := m.GetPath(); len(path) > 0 {
		names = append(names, path[0].GetFrom())
	}
	for _, d := range c.deps.Inventory.Devices {
		if slices.Contains(names, d.Name) || d.Loopback.IsValid() && slices.Contains(names, d.Loopback.String()) {
			return d.Exporters
		}
	}
	return nil
}

// identify removes the sums that arrived within circuits from those to be judged. Where services/circuits
// does not answer none is removed, as where it does not run; the text that it returns then is for the
// report.
func (c *Component) identify(ctx context.Context, o order, in *detect.Input) (within []*alphav1.InCircuit, away string, err error) {
	list, err := c.circuits(ctx, o)
	if err != nil && ctx.Err() != nil {
		return nil, "", err
	}
	if err != nil {
		return nil, fmt.Sprintf("services/circuits did not say which circuits were in force, so alpha flows within circuits are judged as all others: %v", err), nil
	}
	rest, of := circuit.Split(list, o.rule.Interval, in.Sums)
	for _, w := range of {
		found := detect.Run(o.rule, nil, detect.Input{Sums: w.Sums, Frozen: in.Frozen}, o.to)
		for _, p := range pairsToProto(o.rule, found.Pairs) {
			within = append(within, &alphav1.InCircuit{Circuit: w.Circuit, Pair: p})
		}
	}
	in.Sums = rest
	return within, "", nil
}
