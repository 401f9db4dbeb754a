package circuits

import (
	"slices"

	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
)

// aboveSoftCap is the kind of an offer.
const aboveSoftCap = "ABOVE_SOFT_CAP"

// caps of links as they are now.
func (b *book) caps() caps { return capsOf(b.cfg, b.guarantee) }

// capOf terms says up to where a circuit may fill links.
func capOf(t *circuitsv1.Terms) calendar.Cap {
	if t.GetAboveSoftCap() {
		return calendar.Hard
	}
	return calendar.Soft
}

// capOn is up to where a circuit may fill a link, bit/s.
func (b *book) capOn(link string, t *circuitsv1.Terms) int64 {
	of, err := b.admit.Calendar(link)
	if err != nil {
		return 0 // it is a blocker of no link
	}
	soft, hard := of.Caps()
	if capOf(t) == calendar.Hard {
		return hard
	}
	return soft
}

// mayCommit reports whether somebody may commit a circuit: what is above the soft cap is the operators' to give.
func (c Configuration) mayCommit(by string, t *circuitsv1.Terms) error {
	if t.GetAboveSoftCap() && !slices.Contains(c.Operators, by) {
		return refuse(codePolicy, "above_soft_cap", "a circuit that may be above the soft cap is committed by an operator (circuits.operators): hold it, and let one commit it")
	}
	return nil
}

// withHard adds to a refusal for room the offer to go above the soft cap, where that has room: with a person.
func (b *book) withHard(out *circuitsv1.Refusal, no *admit.Refusal, t *circuitsv1.Terms, r admit.Request) *circuitsv1.Refusal {
	if no.Code != admit.Capacity || t.GetAboveSoftCap() || b.caps().hard == b.caps().soft {
		return out
	}
	r.Cap = calendar.Hard
	if _, taken := b.admit.Grant(r.ID); taken { // of a circuit that moves, or is modified
		return out
	}
	if _, _, refusal := b.pathsBy(b.admit.DecideOnly, r, between(t)); refusal != nil {
		return out
	}
	terms := proto.CloneOf(t)
	terms.AboveSoftCap = true
	out.Offers = append(out.Offers, &circuitsv1.Offer{Kind: aboveSoftCap, Terms: terms})
	return out
}
