package circuits

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/ports"
)

// codeVLAN: another circuit has the VLAN of a port in the window.
const codeVLAN = "VLAN_IN_USE"

// otherVLAN is the kind of an offer.
const otherVLAN = "OTHER_VLAN"

// between reports whether terms are for a circuit between ports.
func between(t *circuitsv1.Terms) bool { return t.GetFromPort() != nil || t.GetToPort() != nil }

// The fields of ports, by end.
var portFields = [2]string{"from_port", "to_port"}

func portsOf(t *circuitsv1.Terms) [2]*circuitsv1.Port {
	return [2]*circuitsv1.Port{t.GetFromPort(), t.GetToPort()}
}

// checkPorts refuses what means nothing on any port.
func checkPorts(t *circuitsv1.Terms) error {
	if !between(t) {
		return nil
	}
	for i, p := range portsOf(t) {
		field := portFields[i]
		if p == nil {
			return wrong(field, "a circuit is between two ports, or between none")
		}
		if n := utf8.RuneCountInString(p.GetName()); n < 1 || n > maxName {
			return wrong(field+".name", "1 to %d characters", maxName)
		}
		if len(p.GetVlans()) > maxName {
			return wrong(field+".vlans", "at most %d characters", maxName)
		}
		if _, err := ports.Parse(p.GetVlans()); err != nil {
			return wrong(field+".vlans", "%s", err)
		}
	}
	switch {
	case len(t.GetPairs()) > 0:
		return wrong("pairs", "a circuit between ports carries frames, whatever is in them")
	case t.GetVolumeBytes() != 0:
		return wrong("volume_bytes", "a circuit between ports has a rate")
	case t.GetProtection() != circuitsv1.Protection_PROTECTION_UNSPECIFIED:
		return wrong("protection", "a circuit between ports has no backup")
	case t.GetExcess() > circuitsv1.Excess_EXCESS_QUEUE:
		return wrong("excess", "what a circuit between ports sends above its rate is not distinguished from the rest")
	}
	return nil
}

// attached is what a circuit between ports gets of them.
type attached struct {
	vlans  [2]int
	number int
}

// attach looks what a circuit gets of its ports; nothing where it is not between ports. A refusal for VLANs offers
// others, where each port has some.
func (b *book) attach(t *circuitsv1.Terms, r admit.Request) (attached, error) {
	out, instead, err := b.attachOnly(t, r)
	var no refused
	if instead == nil || !errors.As(err, &no) {
		return out, err
	}
	if _, _, other := b.attachOnly(instead, r); other == nil {
		no.Offers = append(no.Offers, &circuitsv1.Offer{Kind: otherVLAN, Terms: instead})
	}
	return out, err
}

// attachOnly is attach without offers. What may be offered instead is nil where a port has no VLAN that is free.
func (b *book) attachOnly(t *circuitsv1.Terms, r admit.Request) (out attached, instead *circuitsv1.Terms, err error) {
	if !between(t) {
		return out, nil, nil
	}
	if r.Bytes != 0 { // an offer
		return out, nil, wrong("volume_bytes", "a circuit between ports has a rate")
	}
	no := &circuitsv1.Refusal{Code: codeVLAN}
	instead, others := proto.CloneOf(t), true
	for i, p := range portsOf(t) {
		at := ports.Place{Router: []string{r.From, r.To}[i], Port: p.GetName()}
		if err := b.checkPort(portFields[i], at, p, r); err != nil {
			return out, nil, err
		}
		of, err := ports.Parse(p.GetVlans())
		if err != nil {
			return out, nil, wrong(portFields[i]+".vlans", "%s", err)
		}
		var ok bool
		if out.vlans[i], ok = b.ports.Free(at, r.Window, of); ok {
			continue
		}
		b.blockVLANs(no, portFields[i], ports.Use{Place: at, Window: r.Window}, of)
		other, free := b.ports.Free(at, r.Window, ports.Any)
		portsOf(instead)[i].Vlans, others = ports.Text(other), others && free
	}
	switch {
	case no.GetReason() != "" && !others:
		return out, nil, refused{no}
	case no.GetReason() != "":
		return out, instead, refused{no}
	}
	var ok bool
	if out.number, ok = b.ports.Number(); !ok {
		return out, nil, refuse(codeQuota, "", "there are %d circuits between ports, as many as there are numbers for", ports.MaxNumber)
	}
	return out, nil, nil
}

// blockVLANs adds to a refusal who has the VLANs of a port.
func (b *book) blockVLANs(no *circuitsv1.Refusal, field string, u ports.Use, of ports.VLANs) {
	for vlan := range of.Each {
		u.VLAN = vlan
		taken, _ := b.ports.Blocking(u, "")
		if no.GetReason() == "" {
			no.Field, no.Reason = field+".vlans", fmt.Sprintf("%s of port %s is that of circuit %s %s", vlanText(of), u.Port, taken.ID, spanText(taken.Window))
		}
		if len(no.Blockers) == admit.MaxBlockers {
			no.BlockersOmitted++
			continue
		}
		no.Blockers = append(no.Blockers, &circuitsv1.Blocker{
			Router: u.Router, Port: u.Port, Vlan: int32(vlan), Circuit: taken.ID, Start: moment(taken.Start), End: moment(taken.End),
		})
	}
}

func vlanText(of ports.VLANs) string {
	switch {
	case of[0][0] == 0:
		return "what has no tag"
	case len(of) == 1 && of[0][0] == of[0][1]:
		return fmt.Sprintf("VLAN %d", of[0][0])
	}
	return "none of the VLANs is free: the first"
}

func spanText(w calendar.Window) string {
	return fmt.Sprintf("from %s to %s", endText(moment(w.Start)), endText(moment(w.End)))
}

// checkPort looks whether a circuit may have a port at all, and whether the port has room.
func (b *book) checkPort(field string, at ports.Place, p *circuitsv1.Port, r admit.Request) error {
	node, err := b.topo.Resolve(at.Router)
	if err != nil {
		return wrong(field, "%s", err)
	}
	i := slices.IndexFunc(node.Interfaces, func(i topo.Interface) bool { return i.Name == p.GetName() })
	core := slices.ContainsFunc(b.topo.Out(node.ID), func(l *topo.Link) bool { return l.Interface == p.GetName() })
	switch {
	case core:
		return wrong(field+".name", "%s joins %s to another router", p.GetName(), node.Label())
	case i < 0:
		return wrong(field+".name", "router %s has no port %q", node.Label(), p.GetName())
	case slices.ContainsFunc(node.Interfaces[i].Addresses, func(a netip.Prefix) bool { return a.Addr() == node.Loopback }):
		return wrong(field+".name", "%s is the loopback of %s", p.GetName(), node.Label())
	case strings.TrimSpace(p.GetVlans()) == "" && slices.ContainsFunc(node.Interfaces[i].Addresses, routed):
		return wrong(field+".vlans", "%s itself has an address at %s: frames without a tag are its own", node.Label(), p.GetName())
	}
	return b.room(field, at, node.Interfaces[i], r, "")
}

// routed reports whether an address is one that only routers give an interface.
func routed(a netip.Prefix) bool { return !a.Addr().IsLinkLocalUnicast() }

// room looks whether circuits between ports take more of one than it has.
func (b *book) room(field string, at ports.Place, port topo.Interface, r admit.Request, but string) error {
	has := int64(min(port.Speed, calendar.MaxRate))
	taken := b.ports.Most(at, r.Window, but)
	if has == 0 || r.Rate <= has-taken {
		return nil
	}
	return refused{&circuitsv1.Refusal{
		Code: string(admit.Capacity), Field: field, Reason: fmt.Sprintf("port %s has %d bit/s, of which circuits have %d", at.Port, has, taken),
		Blockers: []*circuitsv1.Blocker{{
			Router: at.Router, Port: at.Port, Start: moment(r.Start), End: moment(r.End), ShortfallBitsPerSecond: r.Rate - (has - taken),
		}},
	}}
}

// usesOf is what a record has of ports.
func usesOf(r *circuitsv1.Record) (out []ports.Use) {
	c := r.GetCircuit()
	if !between(c.GetTerms()) || len(c.GetPath()) == 0 {
		return nil
	}
	routers := [2]string{c.GetPath()[0].GetFrom(), c.GetPath()[len(c.GetPath())-1].GetTo()}
	vlans := [2]int32{c.GetFromVlan(), c.GetToVlan()}
	for i, p := range portsOf(c.GetTerms()) {
		for _, s := range grantOf(r).Slots {
			out = append(out, ports.Use{Place: ports.Place{Router: routers[i], Port: p.GetName()}, VLAN: int(vlans[i]), Window: s.Window, Rate: s.Rate})
		}
	}
	return out
}

// mayKeep reports whether a circuit may have its VLANs in other windows, and its ports have room for what it would have
// more than before: one that became slower keeps nobody from asking for less.
func (b *book) mayKeep(was, is *circuitsv1.Record) error {
	id, slots := is.GetCircuit().GetId(), grantOf(is).Slots
	more := admit.Added(grantOf(was).Slots, slots)
	for i, u := range usesOf(is) {
		field := portFields[min(i/len(slots), 1)]
		if taken, blocked := b.ports.Blocking(u, id); blocked {
			no := &circuitsv1.Refusal{Code: codeVLAN}
			b.blockVLANs(no, field, ports.Use{Place: u.Place, Window: taken.Window}, ports.VLANs{{u.VLAN, u.VLAN}})
			return refused{no}
		}
		node, err := b.topo.Resolve(u.Router)
		if err != nil {
			continue // a link that is absent has no capacity to look up
		}
		p := slices.IndexFunc(node.Interfaces, func(i topo.Interface) bool { return i.Name == u.Port })
		for _, m := range more {
			if p < 0 || m.Start < u.Start || m.Start >= u.End {
				continue
			}
			if err := b.room(field, u.Place, node.Interfaces[p], admit.Request{Rate: u.Rate, Window: m.Window}, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusal is one as the API has it; between ports only with offers that fit in both directions and on the ports.
func (b *book) refusal(no *admit.Refusal, t *circuitsv1.Terms, r admit.Request) error {
	out := b.refusalOf(no, t, r)
	if between(t) {
		out.Offers = nil
		for _, o := range no.Offers {
			other, terms := r, termsOf(o.Request, t, r)
			other.Rate, other.Bytes, other.MaxDelay, other.Window, other.PathTerms = o.Request.Rate, o.Request.Bytes, o.Request.MaxDelay, o.Request.Window, o.Request.PathTerms
			if _, err := b.attach(terms, other); err != nil {
				continue
			}
			if _, _, refusal := b.paths(other, true); refusal == nil {
				out.Offers = append(out.Offers, &circuitsv1.Offer{Kind: string(o.Kind), ChangePerMille: o.Change, Terms: terms})
			}
		}
	}
	return refused{b.withHard(out, no, t, r)}
}

// onPorts puts what a record has of ports into the book, or takes it out.
func (b *book) onPorts(r *circuitsv1.Record) {
	if c := r.GetCircuit(); ledger.Books(r) {
		b.ports.Put(c.GetId(), int(c.GetNumber()), usesOf(r))
	} else {
		b.ports.Remove(c.GetId())
	}
}

// fitting keeps of a refusal by ports the offers that links have room for.
func (b *book) fitting(err error, r admit.Request) error {
	var no refused
	if !errors.As(err, &no) || len(no.GetOffers()) == 0 {
		return err
	}
	if _, _, refusal := b.paths(r, true); refusal != nil {
		out := proto.CloneOf(no.Refusal)
		out.Offers = nil
		return refused{out}
	}
	return err
}
