package policy

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/services/circuits/traffic"
	"github.com/millrace/millrace/services/policy/compile"
)

// onRouters are the states of circuits that routers have to carry.
var onRouters = []circuitsv1.State{
	circuitsv1.State_STATE_PROVISIONING, circuitsv1.State_STATE_ACTIVE, circuitsv1.State_STATE_INTERRUPTED,
}

// circuitsPage is the most that services/circuits lists at once.
const circuitsPage = 1000

// inForce requests the circuits in force: those of the states above whose end has not come. Without services/circuits
// there are none; where it is configured and away nobody knows, and a plan without them would take them off routers.
func (c *Component) inForce(ctx context.Context) (out []*circuitsv1.Circuit, err error) {
	if c.deps.Circuits == nil {
		return nil, nil
	}
	now := c.now()
	for ask := (&circuitsv1.ListRequest{States: onRouters, PageSize: circuitsPage}); ; {
		r, err := c.deps.Circuits.List(ctx, connect.NewRequest(ask))
		if err != nil {
			return nil, connect.NewError(connect.CodeUnavailable,
				fmt.Errorf("nothing is planned, for nobody knows which circuits are in force, and a plan without them would take them off routers: %w", err))
		}
		for _, m := range r.Msg.GetCircuits() {
			if until := endOf(m); until.IsZero() || now.Before(until) {
				out = append(out, m)
			}
		}
		if ask.PageToken = r.Msg.GetNextPageToken(); ask.PageToken == "" {
			return out, nil
		}
	}
}

// circuits adds the circuits in force, each with the segments of its path.
func (c *Component) circuits(ctx context.Context, _ *topo.Graph, in *compile.Input) error {
	list, err := c.inForce(ctx)
	if err != nil {
		return err
	}
	known := map[string]pinned{}
	for _, m := range list {
		circuit := c.circuitFromProto(m)
		if err := c.pin(ctx, linksOf(m.GetPath()), known, &circuit); err != nil {
			return err
		}
		if circuit.Ports != nil {
			back := circuit
			if err := c.pin(ctx, linksOf(m.GetBack()), known, &back); err != nil {
				return err
			}
			frames, why := c.framesAlong(circuit.Path.Nodes, back.Path.Nodes)
			circuit.Ports.Back, circuit.Ports.Frames, circuit.Unmapped = back.Path, frames, cmp.Or(circuit.Unmapped, back.Unmapped, why)
		}
		in.Circuits = append(in.Circuits, circuit)
	}
	return nil
}

func linksOf(hops []*circuitsv1.Hop) (out []string) {
	for _, h := range hops {
		out = append(out, h.GetLink())
	}
	return out
}

// pinned is what services/paths says of a path.
type pinned struct {
	path compile.Path
	why  string
}

// pin requests the segments of a path once: circuits between the same ends often share it.
func (c *Component) pin(ctx context.Context, links []string, known map[string]pinned, circuit *compile.Circuit) error {
	if circuit.Unmapped != "" {
		return nil
	}
	key := strings.Join(links, " ")
	if _, asked := known[key]; !asked {
		r, err := c.deps.Paths.Segments(ctx, connect.NewRequest(&pathsv1.SegmentsRequest{Links: links}))
		why, refused := refusal(err)
		switch {
		case refused:
			known[key] = pinned{why: why}
		case connect.CodeOf(err) == connect.CodeInvalidArgument:
			known[key] = pinned{why: "its path cannot be read: " + err.Error()}
		case err != nil:
			return fmt.Errorf("find the segments of circuit %s: %w", circuit.ID, err)
		default:
			path, err := pathFromProto(r.Msg.GetPath())
			if err != nil {
				return fmt.Errorf("segments of circuit %s: %w", circuit.ID, err)
			}
			known[key] = pinned{path: path}
		}
	}
	circuit.Path, circuit.Unmapped = known[key].path, known[key].why
	return nil
}

// circuitFromProto is a circuit but for its path. What nobody can read is refused, not the plan.
func (c *Component) circuitFromProto(m *circuitsv1.Circuit) compile.Circuit {
	out := compile.Circuit{ID: m.GetId(), Until: endOf(m), Rate: rateAt(m, c.now()), Profile: highestRate(m, c.now()), Excess: excesses[m.GetTerms().GetExcess()]}
	if wanted := units.Rate(m.GetTerms().GetRateBitsPerSecond()); wanted > 0 && m.GetTerms().GetVolumeBytes() == 0 {
		out.Rate, out.Profile = min(out.Rate, wanted), min(out.Profile, wanted) // slots have what routers have until then
	}
	if m.GetTerms().GetFromPort() != nil {
		c.between(m, &out)
	}
	if len(m.GetSlots()) > 0 {
		out.From = timeOf(m.GetSlots()[0].GetStart())
	}
	for _, p := range m.GetTerms().GetPairs() {
		is, err := traffic.Read(p)
		if err != nil {
			out.Unmapped = fmt.Sprintf("its traffic from %q to %q cannot be matched: %v", p.GetSource(), p.GetDestination(), err)
		}
		out.Matches = append(out.Matches, compile.Match{Src: is.Src, Dst: is.Dst, Protocol: is.Protocol, SrcPort: is.SrcPort, DstPort: is.DstPort})
	}
	return out
}

// between fills in what a circuit between ports has more. Its ends have two addresses of the range, by its number.
func (c *Component) between(m *circuitsv1.Circuit, out *compile.Circuit) {
	base, n := c.cfg.Ends.Addr().As4(), uint32(m.GetNumber())
	first := binary.BigEndian.Uint32(base[:]) + 2*n
	var ends [2]netip.Addr
	for i := range ends {
		ends[i] = netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, first+uint32(i))))
	}
	if n == 0 || !c.cfg.Ends.Contains(ends[1]) {
		out.Unmapped = fmt.Sprintf("its number %d has no addresses in %s; give policy.circuit_ends a shorter prefix", n, c.cfg.Ends)
	}
	t := m.GetTerms()
	out.Ports = &compile.PortPair{
		Number: n,
		From:   compile.End{Port: t.GetFromPort().GetName(), VLAN: int(m.GetFromVlan()), Address: ends[0]},
		To:     compile.End{Port: t.GetToPort().GetName(), VLAN: int(m.GetToVlan()), Address: ends[1]},
	}
}

// rateAt is what is booked at a moment; a volume may have pauses.
func rateAt(m *circuitsv1.Circuit, now time.Time) units.Rate {
	i := slices.IndexFunc(m.GetSlots(), func(s *circuitsv1.Slot) bool {
		until := timeOf(s.GetEnd())
		return !now.Before(timeOf(s.GetStart())) && (until.IsZero() || now.Before(until))
	})
	if i < 0 {
		return 0
	}
	return units.Rate(m.GetSlots()[i].GetRateBitsPerSecond())
}

// highestRate is the most that is booked from now on. A circuit keeps one profile over all its slots: routers are not
// changed between them.
func highestRate(m *circuitsv1.Circuit, now time.Time) (most units.Rate) {
	for _, s := range m.GetSlots() {
		if until := timeOf(s.GetEnd()); until.IsZero() || now.Before(until) {
			most = max(most, units.Rate(s.GetRateBitsPerSecond()))
		}
	}
	return most
}

// excesses are the treatments in the compiler's words; without one it is ExcessQueue.
var excesses = map[circuitsv1.Excess]compile.Excess{
	circuitsv1.Excess_EXCESS_DROP: compile.ExcessDrop, circuitsv1.Excess_EXCESS_BEST_EFFORT: compile.ExcessBestEffort,
}

// endOf is the end of the last slot, zero for a circuit that is open-ended.
func endOf(m *circuitsv1.Circuit) time.Time {
	if n := len(m.GetSlots()); n > 0 {
		return timeOf(m.GetSlots()[n-1].GetEnd())
	}
	return timeOf(m.GetTerms().GetEnd())
}

// timeOf is zero where there is no time.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
