package junos

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/policy/compile"
)

// firstLabel is the first label that Junos leaves to static configuration; above it stands a circuit's number, which no
// other circuit has.
const firstLabel = 1_000_000

// circuits are ends of circuits between ports: L2 circuits with static labels, each over the LSP of its circuit.
func (r *renderer) circuits() {
	for _, a := range r.plan.Attachments {
		i := slices.IndexFunc(r.plan.LSPs, func(l compile.LSP) bool { return l.Name == a.LSP })
		at := portOf(a.Port)
		switch {
		case i < 0:
			r.refuse("circuit "+a.Circuit, "the plan has no LSP %q", a.LSP)
		case at.unit != "0":
			r.refuse("circuit "+a.Circuit, "%s is a unit, and circuits end at a whole port or at a VLAN of it", a.Port)
		default:
			at.unit = fmt.Sprint(a.VLAN)
			r.attachment(at, a)
			r.pseudowire(at, a, r.plan.LSPs[i])
		}
	}
}

// attachment takes the VLAN's tag off where a frame enters and puts it on where one leaves, so that the VLANs of both
// ends need not be the same, and either may be none. Without a tag the whole port is the circuit's.
func (r *renderer) attachment(at port, a compile.Attachment) {
	physical := "interfaces " + at.physical
	unit := physical + " unit " + at.unit
	if a.VLAN == 0 {
		r.set("%s encapsulation ethernet-ccc", physical)
	} else {
		r.set("%s flexible-vlan-tagging", physical)
		r.set("%s encapsulation flexible-ethernet-services", physical) // with vlan-ccc here, VLANs below 512 are no circuits
		r.set("%s encapsulation vlan-ccc", unit)
		r.set("%s vlan-id %d", unit, a.VLAN)
		r.set("%s input-vlan-map pop", unit)
		r.set("%s output-vlan-map push", unit)
	}
	filter := owned("frames-" + a.Queue)
	r.set("%s family ccc filter input %s", unit, filter)
	s := "firewall family ccc filter " + filter
	r.set("%s term frames then forwarding-class %s", s, owned(r.queue(a.Queue).Name))
	r.set("%s term frames then accept", s)
}

// pseudowire is the L2 circuit. Only the circuit's LSP leads to the address of its other end: no LDP session and no
// policy chooses, and where the LSP is down the circuit is. Nothing is signalled, so what both ends have to agree on is
// written out.
func (r *renderer) pseudowire(at port, a compile.Attachment, l compile.LSP) {
	r.set("protocols mpls label-switched-path %s install %s/32", l.Name, a.Remote)
	s := fmt.Sprintf("protocols l2circuit neighbor %s interface %s.%s", l.Destination, at.physical, at.unit)
	r.set("%s static incoming-label %d", s, firstLabel+a.Number)
	r.set("%s static outgoing-label %d", s, firstLabel+a.Number)
	r.set("%s static send-oam", s)
	r.set("%s psn-tunnel-endpoint %s", s, a.Remote)
	r.set("%s virtual-circuit-id %d", s, a.Number)
	r.set("%s description %s", s, a.Name)
	r.set("%s control-word", s)
	r.set("%s encapsulation-type ethernet", s)
}

// endsCircuits reports whether circuits end at a port that is given without a unit, or as unit 0: that unit is a
// circuit's, or is not there, for the port has VLANs.
func (r *renderer) endsCircuits(at port) bool {
	return at.unit == "0" && slices.ContainsFunc(r.plan.Attachments, func(a compile.Attachment) bool { return portOf(a.Port) == at })
}
