package vpn

import (
	"context"
	"maps"
	"slices"
	"sync"

	"connectrpc.com/connect"

	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"

	"github.com/millrace/millrace/internal/vpnshare"
)

// pair is two PEs, by the addresses by which they identify each other.
type pair struct{ from, to string }

// routes has the links between PEs.
type routes struct {
	paths pathsv1connect.PathsServiceClient

	mu       sync.Mutex
	capacity []float64
	crosses  map[pair][]int
	// apart are those between which the network has no path: they share no link with others.
	apart map[pair]bool
	// complete: every PE had answered when this was read.
	complete bool
}

// readRoutes reads from services/paths the links on all equal-cost paths between PEs. After an error the
// last links stay.
func (c *Component) readRoutes(ctx context.Context) {
	flows, complete := c.lastFlows(), c.allHeard()
	if len(flows) == 0 {
		return
	}
	topology, err := c.deps.Paths.Topology(ctx, connect.NewRequest(&pathsv1.TopologyRequest{}))
	if err != nil {
		c.deps.Log.DebugContext(ctx, "links between PEs not read", "error", err)
		return
	}
	links := topology.Msg.GetSnapshot().GetLinks()
	if len(links) == 0 {
		return // services/paths has just started, and has no topology yet
	}
	number, capacity := map[string]int{}, []float64{}
	for _, l := range links {
		if l.GetMaxBandwidth() > 0 {
			number[l.GetId()] = len(capacity)
			capacity = append(capacity, float64(l.GetMaxBandwidth()))
		}
	}
	crosses, apart := map[pair][]int{}, map[pair]bool{}
	for _, f := range flows {
		p := pair{f.GetIngress(), f.GetEgress()}
		if _, known := crosses[p]; known {
			continue
		}
		crosses[p], err = c.linksBetween(ctx, p, number)
		switch connect.CodeOf(err) {
		case connect.CodeFailedPrecondition: // the network has no path
			apart[p] = true
		case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled:
			c.deps.Log.DebugContext(ctx, "links between PEs not read", "error", err)
			return
		}
	}
	c.routes.mu.Lock()
	defer c.routes.mu.Unlock()
	c.routes.capacity, c.routes.crosses, c.routes.apart, c.routes.complete = capacity, crosses, apart, complete
}

// linksBetween are the numbers of the links on all equal-cost paths from one PE to another.
func (c *Component) linksBetween(ctx context.Context, p pair, number map[string]int) (out []int, err error) {
	paths, err := c.deps.Paths.Ecmp(ctx, connect.NewRequest(&pathsv1.EcmpRequest{From: p.from, To: p.to}))
	if err != nil {
		c.deps.Log.DebugContext(ctx, "path between PEs not known", "from", p.from, "to", p.to, "error", err)
		return nil, err
	}
	for _, path := range paths.Msg.GetPaths() {
		for _, id := range path.GetLinks() {
			if n, ok := number[id]; ok && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

// network returns the links by VPN for max-min fairness; nil until they are known for every PE's flows.
func (r *routes) network(flows []*vpnv1.Flow) *vpnshare.Network {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.complete || len(r.capacity) == 0 {
		return nil
	}
	n := &vpnshare.Network{Capacity: r.capacity, Crosses: map[string][]int{}}
	for _, f := range flows {
		p := pair{f.GetIngress(), f.GetEgress()}
		links := r.crosses[p]
		if len(links) == 0 && !r.apart[p] {
			return nil
		}
		for _, l := range links {
			if !slices.Contains(n.Crosses[f.GetVpn()], l) {
				n.Crosses[f.GetVpn()] = append(n.Crosses[f.GetVpn()], l)
			}
		}
	}
	if len(n.Crosses) == 0 {
		return nil
	}
	return n
}

// between returns the links of each pair of PEs.
func (r *routes) between() map[pair][]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.crosses)
}

// lastFlows are the flows of the last answer of each PE, however old.
func (c *Component) lastFlows() (out []*vpnv1.Flow) {
	for _, p := range c.pes {
		out = append(out, p.lastFlows()...)
	}
	return out
}

// allHeard reports whether every PE has answered since the start: max-min rates over a part of the network would be
// wrong.
func (c *Component) allHeard() bool {
	for _, p := range c.pes {
		p.mu.Lock()
		silent := p.heard.IsZero()
		p.mu.Unlock()
		if silent {
			return false
		}
	}
	return true
}
