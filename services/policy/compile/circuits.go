package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// CircuitsRedirect is the index of the rule for the circuits, -1 if there is none.
func CircuitsRedirect(p document.Policy) int {
	return slices.IndexFunc(p.Redirect, func(d document.Redirect) bool { return d.Pairs == document.SourceCircuits })
}

// mapCircuits plans each circuit in force on every router of its booked path, those that began first first: one that
// came later never takes anything from them.
func (c *compiler) mapCircuits() {
	list := slices.Clone(c.in.Circuits)
	slices.SortFunc(list, func(a, b Circuit) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.ID, b.ID)) })
	p := &mapping{compiler: c, booked: map[string]units.Rate{}, claimed: map[place][]claimed{}, attached: map[portAt]map[int]string{}}
	for _, circuit := range list {
		if why := p.add(circuit); why != "" {
			c.out.Refused = append(c.out.Refused, Refused{circuit.ID, why})
			continue
		}
		c.out.Circuits = append(c.out.Circuits, circuit.ID)
	}
}

// fitID is what names on routers are made of: an LSP's name has at most 64 characters there.
var fitID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// mapping is what the circuits before have.
type mapping struct {
	*compiler
	// booked is the sum of the rates on each link.
	booked map[string]units.Rate
	// claimed are what the circuits before have between the same prefixes, of the same kind, at an ingress router.
	claimed map[place][]claimed
	// attached are the circuits that have VLANs of a port.
	attached map[portAt]map[int]string
}

// add plans one circuit; it returns why it cannot.
func (p *mapping) add(circuit Circuit) string {
	rule := CircuitsRedirect(p.in.Policy)
	switch {
	case rule < 0:
		return fmt.Sprintf("policy %s has no rule for circuits; add one with pairs: circuits under redirect:", p.in.Policy.Name)
	case !fitID.MatchString(circuit.ID):
		return fmt.Sprintf("its id %.60q is no part of a name on routers", circuit.ID)
	case circuit.Unmapped != "":
		return circuit.Unmapped
	case len(circuit.Path.Segments) == 0:
		return "its path has no segments"
	}
	queue, _ := p.in.Policy.QueueByName(p.in.Policy.Redirect[rule].Queue)
	if circuit.Ports != nil {
		return p.addPorts(circuit, queue)
	}
	hops, why := p.booking(circuit)
	if why == "" {
		why = p.claim(circuit)
	}
	if why == "" {
		why = p.room(circuit, hops, queue)
	}
	if why != "" {
		return why
	}
	p.plan(circuit, hops, queue.Name)
	return ""
}

// booking resolves the path, which must be whole, and managed all the way: elsewhere nothing keeps its rate.
func (p *mapping) booking(circuit Circuit) ([]Link, string) {
	hops, why := p.hops(circuit.Path)
	if why != "" {
		return nil, why
	}
	if len(circuit.Path.Nodes) != len(hops)+1 {
		return nil, fmt.Sprintf("its path has %d routers and %d links", len(circuit.Path.Nodes), len(hops))
	}
	for i, l := range hops {
		if l.From != circuit.Path.Nodes[i] || l.To != circuit.Path.Nodes[i+1] {
			return nil, fmt.Sprintf("link %s of its path goes from %s to %s, and the path from %s to %s", l.ID, l.From, l.To, circuit.Path.Nodes[i], circuit.Path.Nodes[i+1])
		}
	}
	for _, name := range circuit.Path.Nodes {
		if !p.routers[name].Managed {
			return nil, fmt.Sprintf("router %s of its path is not managed, so nothing keeps its rate there", name)
		}
	}
	return hops, ""
}

// claim checks whether the circuit's packets can be matched, and distinguished from those of others.
func (p *mapping) claim(circuit Circuit) string {
	if len(circuit.Matches) == 0 {
		return "it names no traffic"
	}
	for _, m := range circuit.Matches {
		first := p.before(circuit, m)
		switch {
		case !m.Src.IsValid() || !m.Dst.IsValid():
			return "its prefixes are not valid"
		case !m.Src.Addr().Is4() || !m.Dst.Addr().Is4():
			return fmt.Sprintf("its traffic from %s to %s is IPv6, and LSPs carry IPv4 in this version", m.Src, m.Dst)
		case first != "":
			return fmt.Sprintf("its traffic from %s to %s is that of circuit %s, which was first", m.Src, m.Dst, first)
		}
	}
	return ""
}

// place is where matches may be in each other's way: between matches of two kinds, or of prefixes of two lengths, their
// order decides.
type place struct {
	ingress  string
	src, dst netip.Prefix
	kind     uint32
}

type claimed struct {
	match   Match
	circuit string
}

func placeOf(circuit Circuit, m Match) place {
	return place{circuit.Path.Nodes[0], m.Src, m.Dst, kindOf(m)}
}

// before is the circuit that has some of the packets of a match already, if another one has.
func (p *mapping) before(circuit Circuit, m Match) string {
	for _, c := range p.claimed[placeOf(circuit, m)] {
		if c.circuit != circuit.ID && overlap(c.match, m) {
			return c.circuit
		}
	}
	return ""
}

// overlap reports whether packets between the same prefixes may be of both matches of a kind.
func overlap(a, b Match) bool {
	return a.Protocol == b.Protocol && meet(a.SrcPort, b.SrcPort) && meet(a.DstPort, b.DstPort)
}

func meet(a, b *document.PortRange) bool {
	return a == nil || b == nil || a.First <= b.Last && b.First <= a.Last
}

// room is the guard rail against more circuits on a link than their queue guarantees, whatever was booked.
func (p *mapping) room(circuit Circuit, hops []Link, queue document.Queue) string {
	for _, l := range hops {
		guaranteed := guarantee(l.Bandwidth, queue)
		if taken := p.booked[l.ID]; l.Bandwidth > 0 && (taken > guaranteed || circuit.Rate > guaranteed-taken) {
			return fmt.Sprintf("queue %s guarantees %s of the %s from %s to %s, circuits before it have %s of that, and it needs %s; raise the queue's weight, or let services/circuits book less",
				queue.Name, guaranteed, l.Bandwidth, l.From, l.To, taken, circuit.Rate)
		}
	}
	return ""
}

// plan records what the circuit has, and gives it to the routers.
func (p *mapping) plan(circuit Circuit, hops []Link, queue string) {
	ingress, egress := circuit.Path.Nodes[0], circuit.Path.Nodes[len(hops)]
	p.book(hops, circuit.Rate)
	lsp, profiled := p.planCircuitLSP(circuit), p.planProfile(circuit)
	for _, m := range circuit.Matches {
		at := placeOf(circuit, m)
		p.claimed[at] = append(p.claimed[at], claimed{m, circuit.ID})
		f := flow{Rule{Circuit: circuit.ID, Match: m, Queue: queue}, ingress, egress}
		behind := []flow{f}
		if excess, ok := p.excessBehind(circuit, f); ok && profiled {
			behind = append(behind, excess)
		}
		f.rule.Profiled = profiled
		p.planIngress(f, lsp)
		for _, f := range behind {
			p.planBehind(f, hops, "circuit "+circuit.ID+" from "+ingress)
		}
	}
}

// planCircuitLSP starts the circuit's own LSP at its ingress: its counters are the circuit's, and it goes when the
// circuit goes.
func (p *mapping) planCircuitLSP(circuit Circuit) string {
	path := circuit.Path
	dr := p.draft(path.Nodes[0])
	name := CircuitLSPName(circuit)
	why := "circuit " + circuit.ID
	if circuit.Rate > 0 {
		why += ", " + circuit.Rate.String()
	}
	why += untilText(circuit.Until)
	dr.lsps[name] = LSP{Name: name, Destination: p.destination(path), Hops: path.Segments, Adjacencies: path.Adjacencies, Reason: why}
	dr.reason(fmt.Sprintf("ingress of LSP %s (%s): %s", name, strings.Join(path.Nodes, "–"), why))
	return name
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return ", until it is released"
	}
	return " until " + t.UTC().Format(time.RFC3339)
}

// CircuitLSPName distinguishes a circuit's paths: another path is another LSP, so that the new one is up before the
// rules leave the old one.
func CircuitLSPName(circuit Circuit) string {
	sum := sha256.Sum256(fmt.Append(nil, circuit.ID, circuit.Path.Segments))
	return fmt.Sprintf("te-circuit-%s-%s", circuit.ID, hex.EncodeToString(sum[:3]))
}
