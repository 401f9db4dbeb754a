package circuits

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
)

// moment is nil where there is no end.
func moment(seconds int64) *timestamppb.Timestamp {
	if seconds == calendar.Forever {
		return nil
	}
	return timestamppb.New(time.Unix(seconds, 0))
}

func seconds(at *timestamppb.Timestamp) int64 {
	if at == nil {
		return calendar.Forever
	}
	return at.GetSeconds()
}

// grantOf is what of a record stands in the book of admit.
func grantOf(r *circuitsv1.Record) admit.Grant {
	c := r.GetCircuit()
	g := admit.Grant{ID: c.GetId(), Cap: capOf(c.GetTerms())}
	for _, s := range c.GetSlots() {
		w := calendar.Window{Start: s.GetStart().GetSeconds(), End: seconds(s.GetEnd())}
		g.Slots = append(g.Slots, admit.Slot{Window: w, Rate: s.GetRateBitsPerSecond()})
	}
	if p := c.GetPreempted(); p != nil {
		g.Slots = until(g.Slots, p.GetFrom().GetSeconds())
	}
	for _, h := range c.GetPath() {
		g.Path = append(g.Path, h.GetLink())
	}
	for _, h := range c.GetBackup() {
		g.Backup = append(g.Backup, h.GetLink())
	}
	return g
}

func slotsOf(g *admit.Grant) (out []*circuitsv1.Slot) {
	for _, s := range g.Slots {
		out = append(out, &circuitsv1.Slot{Start: moment(s.Start), End: moment(s.End), RateBitsPerSecond: s.Rate})
	}
	return out
}

func (b *book) hopsOf(links []string) (out []*circuitsv1.Hop) {
	for _, id := range links {
		out = append(out, b.hop(id))
	}
	return out
}

func (b *book) hop(link string) *circuitsv1.Hop {
	h := &circuitsv1.Hop{Link: link}
	if l, ok := b.graph.LinkIndex(link); ok {
		h.From, h.To = b.graph.Node(b.graph.From(l)).ID, b.graph.Node(b.graph.To(l)).ID
	}
	return h
}

// refusalOf is a refusal as the API has it; terms are those that were refused, and asked is what admit was asked for.
func (b *book) refusalOf(r *admit.Refusal, terms *circuitsv1.Terms, asked admit.Request) *circuitsv1.Refusal {
	out := &circuitsv1.Refusal{
		Code: string(r.Code), Field: fieldOf(r.Field), Reason: r.Reason, BlockersOmitted: int32(r.Omitted),
	}
	for _, k := range r.Blockers {
		out.Blockers = append(out.Blockers, &circuitsv1.Blocker{
			Link: k.Link, Start: moment(k.Start), End: moment(k.End), ShortfallBitsPerSecond: k.Shortfall,
			Maintenance: b.maintenanceBehind(k, asked), ReservableBitsPerSecond: b.capOn(k.Link, terms),
		})
	}
	out.Reason += b.maintenanceText(out.GetBlockers())
	for _, o := range r.Offers {
		if terms.GetScavenger() && o.Request.Bytes > 0 {
			continue
		}
		out.Offers = append(out.Offers, &circuitsv1.Offer{Kind: string(o.Kind), ChangePerMille: o.Change, Terms: termsOf(o.Request, terms, asked)})
	}
	for _, x := range r.Relaxations {
		out.Relaxations = append(out.Relaxations, &circuitsv1.Relaxation{Field: fieldOf(x.Field), By: x.By, Links: x.Links, Routers: x.Nodes, RiskGroups: x.RiskGroups})
	}
	for _, k := range r.GivenUp {
		out.GivenUp = append(out.GivenUp, string(k))
	}
	return out
}

// fields of admit.Request that have another name in the API.
var fields = map[string]string{
	"window": "end", "bytes": "volume_bytes", "rate": "rate_bits_per_second", "max_delay": "max_delay_microseconds",
	"without_nodes": "without_routers", "protect": "protection",
}

func fieldOf(name string) string {
	if other, ok := fields[name]; ok {
		return other
	}
	return name
}

// termsOf are the terms of an offer: those that were refused, changed.
func termsOf(r admit.Request, refused *circuitsv1.Terms, asked admit.Request) *circuitsv1.Terms {
	t := proto.CloneOf(refused)
	t.RateBitsPerSecond, t.VolumeBytes, t.MaxDelayMicroseconds = r.Rate, r.Bytes, r.MaxDelay
	t.Start, t.End = moment(r.Start), moment(r.End)
	t.Protection = circuitsv1.Protection(r.Protect)
	offerPathTerms(t, r.PathTerms, asked.PathTerms)
	return t
}
