package circuits

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// rerouted is a circuit's record with another path than the one of which a link is gone, and the transitions in it; nil
// where it needs none. It is called while the book does not change. What the circuit has counts as free for it, and is
// given back by the same record.
func (b *book) rerouted(was *circuitsv1.Record, now time.Time) (*circuitsv1.Record, []life.Move, []displaced, error) {
	if err := b.known(); err != nil {
		return nil, nil, nil, err
	}
	if b.there(was.GetCircuit()) || !lostCircuit(was).Moves(now.Unix()) {
		return nil, nil, nil, nil // it was listed before, and others or a person have changed it since
	}
	was, lost := withLoss(was, now)
	c, is := was.GetCircuit(), proto.CloneOf(was)
	l := ledger.LifeOf(was)
	var others []displaced
	if spare := c.GetBackup(); len(spare) > 0 && !slices.ContainsFunc(spare, b.isGone) {
		is.Circuit.Path, is.Circuit.Backup = is.Circuit.GetBackup(), is.Circuit.GetPath()
	} else {
		g, back, err := b.elsewhere(was, now, func(r admit.Request) (forth, back *admit.Grant, no *admit.Refusal) {
			forth, back, others, no = b.insteadDisplacing(was, r, now)
			return forth, back, no
		})
		if err != nil {
			return nil, nil, nil, err
		}
		l.Start, l.End = b.relocate(is, g, back)
		is.Circuit.Displaced = answerOf(others)
	}
	others = append(others, b.notApart(was, is, others, now)...)
	next, _ := life.Next(l, life.Event{Kind: life.Rerouted, By: life.Self, Text: b.movedText(c, is.GetCircuit())})
	return ledger.With(is, next, now), append(lost, next.Moves...), others, nil
}

// relocate writes into a record what was granted for it on other links, and says from when until when that is.
func (b *book) relocate(is *circuitsv1.Record, g, back *admit.Grant) (start, end int64) {
	start = startOf(is, g.Slots)
	is.Circuit.Slots, is.Circuit.Path, is.Circuit.Backup = slotsOf(g), b.hopsOf(g.Path), b.hopsOf(g.Backup)
	is.Circuit.Back = b.backHops(back)
	return start, g.Slots[len(g.Slots)-1].End
}

// startOf is when a circuit with other slots begins: where they begin as before, when it did, for it may be booked
// ahead of its start.
func startOf(was *circuitsv1.Record, slots []admit.Slot) int64 {
	if first := grantOf(was).Slots; len(first) > 0 && first[0].Start == slots[0].Start {
		return was.GetLife().GetStart()
	}
	return slots[0].Start
}

// pathsDecider decides on a request, and between ports on the return path beside it.
type pathsDecider func(admit.Request) (forth, back *admit.Grant, no *admit.Refusal)

// elsewhere decides on another path for what is left of a circuit. A volume gets other slots for what is left of it.
func (b *book) elsewhere(was *circuitsv1.Record, now time.Time, decide pathsDecider) (g, back *admit.Grant, err error) {
	c, had := was.GetCircuit(), grantOf(was)
	if err := b.viaIsThere(c.GetTerms()); err != nil {
		return nil, nil, err
	}
	terms := b.stillThere(c.GetTerms())
	from := max(had.Slots[0].Start, now.Unix())
	terms.Start = moment(from)
	past := until(had.Slots, from)
	if terms.GetVolumeBytes() > 0 {
		terms.VolumeBytes = min(terms.GetVolumeBytes(), bytesFrom(had.Slots, min(from, lostAt(c, from))))
	}
	r, err := b.request(c.GetId(), terms, now)
	if err != nil {
		return nil, nil, err
	}
	g, back, refusal := b.keepingApart(r, decide)
	switch {
	case refusal != nil:
		return nil, nil, b.refusal(refusal, terms, r)
	case terms.GetVolumeBytes() == 0:
		g.Slots = had.Slots // the same, on other links
	case len(past)+len(g.Slots) > admit.MaxSlots:
		return nil, nil, refuse(string(admit.SearchBound), "", "another path needs more than %d slots together with those that are over", admit.MaxSlots)
	default:
		g.Slots = append(past, g.Slots...)
	}
	return g, back, nil
}

// lostAt is the second from which on a circuit whose path is lost carried nothing: when it was active last, or, where
// it never was, when its links were all there last; not before it was moved last: what was lost then has other slots.
func lostAt(c *circuitsv1.Circuit, otherwise int64) int64 {
	at := otherwise
	for _, h := range slices.Backward(c.GetHistory()) {
		if s := ledger.NameOf(h.GetState()); s == life.Active || s == life.Scheduled {
			break
		}
		at = h.GetTime().GetSeconds()
		if h.GetBy() == life.Self && strings.HasPrefix(h.GetNote(), movedTo) {
			break
		}
	}
	return at
}

// stillThere are terms without what they exclude and is gone: links and routers that the topology lacks, circuits that
// are over.
func (b *book) stillThere(t *circuitsv1.Terms) *circuitsv1.Terms {
	t = proto.CloneOf(t)
	t.WithoutLinks = slices.DeleteFunc(t.GetWithoutLinks(), func(id string) bool { _, known := b.graph.LinkIndex(id); return !known })
	t.WithoutRouters = slices.DeleteFunc(t.GetWithoutRouters(), func(name string) bool { _, err := b.topo.Resolve(name); return err != nil })
	t.ApartFrom = slices.DeleteFunc(t.GetApartFrom(), func(id string) bool { _, booked := b.admit.Grant(id); return !booked })
	return t
}

// until are slots before a moment.
func until(slots []admit.Slot, at int64) (out []admit.Slot) {
	for _, s := range slots {
		if s.End = min(s.End, at); s.Start < s.End {
			out = append(out, s)
		}
	}
	return out
}

// bytesFrom is what slots carry from a moment on, at least 1.
func bytesFrom(slots []admit.Slot, at int64) int64 {
	total := int64(0)
	for _, s := range slots {
		if s.Start = max(s.Start, at); s.Start < s.End {
			total += s.Rate * (s.End - s.Start) / 8
		}
	}
	return max(total, 1)
}

// movedTo begins the note of a circuit that was moved.
const movedTo = "moved to "

// movedText says for people from where to where a circuit was moved, and which link of it was lost.
func (b *book) movedText(was, is *circuitsv1.Circuit) string {
	text := movedTo + b.pathText(is.GetPath())
	if i := slices.IndexFunc(bothPaths(was), b.isGone); i >= 0 {
		text += ": link " + bothPaths(was)[i].GetLink() + " is gone"
	}
	return text
}

// pathText is a path by the names of its routers.
func (b *book) pathText(path []*circuitsv1.Hop) string {
	var names []string
	for i, h := range path {
		if i == 0 {
			names = append(names, b.nameOf(h.GetFrom()))
		}
		names = append(names, b.nameOf(h.GetTo()))
	}
	return strings.Join(names, "–")
}

func (b *book) nameOf(id string) string {
	if label := b.label(id); label != "" {
		return label
	}
	return id
}
