package compile

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// PortPair is what a circuit between ports has more than one between prefixes: it carries Ethernet frames, both ways.
type PortPair struct {
	// Frames is how routers carry the frames.
	Frames Frames
	// Number is no other circuit's between ports.
	Number uint32
	// From is where Path begins, To where it ends.
	From, To End
	// Back is the path from To to From.
	Back Path
}

// End is a VLAN of a port, 0 for frames without a tag, and the address of the circuit's end.
type End struct {
	Port    string
	VLAN    int
	Address netip.Addr
}

// Attachment is one end of a circuit, at a router.
type Attachment struct {
	Circuit string
	// Name is the same at both ends.
	Name string
	// End is configentry.FromEnd where Path begins, configentry.ToEnd where it ends.
	End    string
	Port   string
	VLAN   int
	Number uint32
	// Frames are carried from Local, which is the router's for this circuit only, to Remote.
	Local, Remote netip.Addr
	// Queue and LSP are those of frames that enter here; frames that leave have the queue, too.
	Queue, LSP string
}

// AttachmentName is what a circuit between ports is called on routers.
func AttachmentName(id string) string { return configentry.CircuitPrefix + id }

// endOf is the end of a circuit that is at one of its ports; both have an address, and no two the same.
func endOf(k *PortPair, at End) string {
	if at == k.From {
		return configentry.FromEnd
	}
	return configentry.ToEnd
}

// portAt is a port of a router.
type portAt struct{ router, port string }

// addPorts plans a circuit between ports; it returns why it cannot.
func (p *mapping) addPorts(circuit Circuit, queue document.Queue) string {
	k, back := circuit.Ports, circuit
	back.Path = k.Back
	if len(k.Back.Segments) == 0 {
		return "its return path has no segments"
	}
	hops, why := p.booking(circuit)
	if why != "" {
		return why
	}
	returning, why := p.booking(back)
	if why != "" {
		return "its return path: " + why
	}
	from, to := circuit.Path.Nodes[0], circuit.Path.Nodes[len(hops)]
	if nodes := k.Back.Nodes; nodes[0] != to || nodes[len(nodes)-1] != from {
		return fmt.Sprintf("its return path goes from %s to %s, and it from %s to %s", nodes[0], nodes[len(nodes)-1], from, to)
	}
	for _, end := range []struct {
		router string
		End
	}{{from, k.From}, {to, k.To}} {
		if why := p.claimPort(k.Frames, end.router, end.End); why != "" {
			return why
		}
	}
	if why := p.room(circuit, hops, queue); why != "" {
		return why
	}
	p.book(hops, circuit.Rate)
	if why := p.room(back, returning, queue); why != "" {
		p.book(hops, -circuit.Rate)
		return "its return path: " + why
	}
	p.book(returning, circuit.Rate)
	p.attach(circuit, hops, from, to, k.From, k.To, queue.Name)
	p.attach(back, returning, to, from, k.To, k.From, queue.Name)
	return ""
}

func (p *mapping) book(hops []Link, rate units.Rate) {
	for _, l := range hops {
		p.booked[l.ID] += rate
	}
}

// claimPort checks whether a port exists and differs from those of others. What a refused circuit looked at stays
// free.
func (p *mapping) claimPort(frames Frames, router string, end End) string {
	switch {
	case !end.Address.Is4():
		return fmt.Sprintf("its end at %s has no address of IPv4", router)
	case p.core[router][end.Port]:
		return fmt.Sprintf("port %s of %s joins it to another router", end.Port, router)
	case !slices.ContainsFunc(p.routers[router].Interfaces, func(i Interface) bool { return i.Name == end.Port }):
		return fmt.Sprintf("router %s has no port %s", router, end.Port)
	case frames.Unit(end.Port):
		return fmt.Sprintf("%s of %s is a unit, and circuits there end at a whole port or at a VLAN of it", end.Port, router)
	}
	return p.claimVLAN(frames, router, end)
}

// claimVLAN checks whether the circuits before leave an end its VLAN or, where it needs that, its whole port.
func (p *mapping) claimVLAN(frames Frames, router string, end End) string {
	taken := p.attached[portAt{router, end.Port}]
	switch {
	case taken[end.VLAN] != "":
		return fmt.Sprintf("VLAN %d of port %s of %s is that of circuit %s, which was first", end.VLAN, end.Port, router, taken[end.VLAN])
	case !frames.WholePort() || len(taken) == 0:
	case taken[0] != "":
		return fmt.Sprintf("port %s of %s is that of circuit %s, whose frames have no tag and take all of it there", end.Port, router, taken[0])
	case end.VLAN == 0:
		first := slices.Min(slices.Collect(maps.Keys(taken)))
		return fmt.Sprintf("its frames have no tag and take all of port %s of %s, of which circuit %s has VLAN %d", end.Port, router, taken[first], first)
	}
	return ""
}

// attach gives the routers one direction of a circuit: transit routers recognise its frames by the addresses of its
// ends, or by their labels alone.
func (p *mapping) attach(circuit Circuit, hops []Link, ingress, egress string, at, other End, queue string) {
	taken := p.attached[portAt{ingress, at.Port}]
	if taken == nil {
		taken = map[int]string{}
		p.attached[portAt{ingress, at.Port}] = taken
	}
	taken[at.VLAN] = circuit.ID
	lsp := p.planCircuitLSP(circuit)
	dr := p.draft(ingress)
	dr.attachments = append(dr.attachments, Attachment{
		Circuit: circuit.ID, Name: AttachmentName(circuit.ID), End: endOf(circuit.Ports, at), Port: at.Port, VLAN: at.VLAN, Number: circuit.Ports.Number,
		Local: at.Address, Remote: other.Address, Queue: queue, LSP: lsp,
	})
	if p.in.Policy.Ports != document.PortsCore {
		dr.port(p.iface(p.routers[ingress], at.Port))
	}
	for port := range p.core[ingress] {
		p.onPath(ingress, p.iface(p.routers[ingress], port))
	}
	match := Match{Src: netip.PrefixFrom(at.Address, at.Address.BitLen()), Dst: netip.PrefixFrom(other.Address, other.Address.BitLen())}
	f := flow{Rule{Circuit: circuit.ID, Match: match, Queue: queue, Labelled: circuit.Ports.Frames.Labelled()}, ingress, egress}
	p.planBehind(f, hops, "circuit "+circuit.ID+" from "+ingress)
}

func compareAttachments(a, b Attachment) int { return strings.Compare(a.Name, b.Name) }
