package circuits

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// codeOutdated: the circuit has another version than the one that was to be modified.
const codeOutdated = "OUTDATED"

// Modify implements CircuitsService.
func (a *api) Modify(ctx context.Context, r *connect.Request[circuitsv1.ModifyRequest]) (*connect.Response[circuitsv1.ModifyResponse], error) {
	record, err := a.c.modify(ctx, r.Msg)
	err = ofPath(r.Msg, err)
	count(a.c.metrics.modifications, err)
	var no refused
	if r.Msg.GetDryRun() && errors.As(err, &no) && codes[no.GetCode()] != connect.CodeInvalidArgument && no.GetCode() != codeOutdated {
		return connect.NewResponse(&circuitsv1.ModifyResponse{Refusal: no.Refusal}), nil
	}
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.ModifyResponse{Circuit: record.GetCircuit()}), nil
}

// wouldBe is what a dry run ends with: the circuit as it would be.
type wouldBe struct{ *circuitsv1.Record }

func (wouldBe) Error() string { return "a dry run changes nothing" }

func (c *Component) modify(ctx context.Context, ask *circuitsv1.ModifyRequest) (*circuitsv1.Record, error) {
	switch {
	case utf8.RuneCountInString(ask.GetNote()) > maxDescription:
		return nil, wrong("note", "at most %d characters", maxDescription)
	case ask.GetVersion() < 1:
		return nil, wrong("version", "say which version of the circuit you modify")
	case ask.GetRateBitsPerSecond() < 0 || ask.GetRateBitsPerSecond() > calendar.MaxRate:
		return nil, wrong("rate_bits_per_second", "0, for the same, to %d", int64(calendar.MaxRate))
	case ask.GetOpenEnded() && ask.GetEnd() != nil:
		return nil, wrong("end", "a circuit that is open-ended has none")
	}
	was, err := c.ledger.Find(ctx, ask.GetId())
	if err != nil {
		return nil, err
	}
	if err := c.cfg.may(ask.GetBy(), was.GetCircuit().GetTerms().GetProject()); err != nil {
		return nil, err
	}
	if was.GetCircuit().GetVersion() < ask.GetVersion() { // of another replica, perhaps
		if err := c.ledger.CatchUp(ctx, ask.GetId()); err != nil {
			return nil, err
		}
	}
	now, changed := c.deps.Now(), false
	record, err := c.ledger.Rebook(ctx, ask.GetId(), func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
		is, err := c.book.modified(was, ask, now)
		if changed = is != nil; err == nil && ask.GetDryRun() {
			if is == nil {
				is = was
			}
			return nil, wouldBe{is}
		}
		return is, err
	})
	var dry wouldBe
	switch {
	case errors.As(err, &dry):
		return dry.Record, nil
	case err == nil && changed:
		h := record.GetCircuit().GetHistory()
		c.events.Publish(ctx, events.CircuitModified, ask.GetId(), fmt.Sprintf("Circuit %s of project %s: %s (%s).",
			ask.GetId(), record.GetCircuit().GetTerms().GetProject(), h[len(h)-1].GetNote(), ask.GetBy()))
	}
	return record, err
}

// modified is a circuit's record with another rate, end or path; nil where it has them already. It is called while the
// book does not change. What the circuit has counts as free for itself.
func (b *book) modified(was *circuitsv1.Record, ask *circuitsv1.ModifyRequest, now time.Time) (*circuitsv1.Record, error) {
	c := was.GetCircuit()
	terms := proto.CloneOf(c.GetTerms())
	if rate := ask.GetRateBitsPerSecond(); rate != 0 {
		if terms.RateBitsPerSecond = rate; terms.GetScavenger() && rate != scavengerRate {
			return nil, wrong("rate_bits_per_second", "a scavenger has no rate; request another circuit, and release this one")
		}
	}
	if ask.GetOpenEnded() || ask.GetEnd() != nil {
		terms.End = ask.GetEnd()
	}
	if ask.GetPath() != nil {
		copyPath(terms, ask.GetPath())
		if err := checkTerms(terms); err != nil {
			return nil, err
		}
	}
	switch {
	case proto.Equal(terms, c.GetTerms()) && c.GetVersion() >= ask.GetVersion():
		return nil, nil // also where the answer to the same request was lost
	case c.GetVersion() != ask.GetVersion():
		return nil, refuse(codeOutdated, "version", "circuit %s is at version %d; read it, and say what is to change now", c.GetId(), c.GetVersion())
	}
	w, err := b.mayModify(was, terms, now)
	if err != nil {
		return nil, err
	}
	if err := b.cfg.mayCommit(ask.GetBy(), terms); err != nil && ledger.NameOf(c.GetState()) != life.Held {
		return nil, err // a person has let it above the soft cap with the terms that it has
	}
	if err := b.known(); err != nil {
		return nil, err
	}
	b.count(was, -1)
	defer b.count(was, 1)
	g, back, err := b.regrant(was, terms, w, now)
	if err != nil {
		return nil, err
	}
	if err := b.within(terms.GetProject(), g); err != nil {
		return nil, err
	}
	is := b.rewritten(was, terms, g, back, ask, now)
	if err := b.mayKeep(was, is); err != nil {
		return nil, err
	}
	return is, nil
}

// mayModify reports whether terms may be those of a circuit from now on, whatever is free, and from when until when.
func (b *book) mayModify(was *circuitsv1.Record, terms *circuitsv1.Terms, now time.Time) (w calendar.Window, err error) {
	c := was.GetCircuit()
	state, started := ledger.NameOf(c.GetState()), c.GetSlots()[0].GetStart().GetSeconds() <= now.Unix()
	if w, err = windowOf(terms.GetStart(), terms.GetEnd(), now); err != nil {
		return w, err
	}
	w.Start = max(c.GetSlots()[0].GetStart().GetSeconds(), now.Unix())
	switch p, known := b.cfg.Projects[terms.GetProject()]; {
	case !state.Books() || state == life.Releasing:
		return w, fmt.Errorf("circuit %s: %w: it is %s; request a new one", c.GetId(), errTransition, state)
	case otherRate(c, terms) && mayBeOnRouters(state) && (state != life.Active || was.GetLife().GetOpen()):
		return w, fmt.Errorf("circuit %s: %w: it is %s, and a change set of it is on its way or its path is gone; its rate may be changed once it is active", c.GetId(), errTransition, state)
	case otherRate(c, terms) && mayBeOnRouters(state) && !proto.Equal(terms.GetEnd(), c.GetTerms().GetEnd()):
		return w, wrong("end", "rate and end of a circuit that is active are changed one after the other")
	case terms.GetVolumeBytes() > 0 && (started || mayBeOnRouters(state)):
		return w, fmt.Errorf("circuit %s: %w: a volume that has begun, or that routers may have, is not modified", c.GetId(), errTransition)
	case w.End <= now.Unix():
		return w, wrong("end", "it must be after now; release the circuit to end it at once")
	case known && p.GbitHours > 0 && w.End == calendar.Forever:
		return w, refuse(codeQuota, "end", "project %s has a limit of Gbit/s · h, so its circuits have an end", terms.GetProject())
	}
	return w, mayMove(was, terms, started)
}

func otherRate(c *circuitsv1.Circuit, terms *circuitsv1.Terms) bool {
	return terms.GetRateBitsPerSecond() != c.GetTerms().GetRateBitsPerSecond()
}

// mayBeOnRouters reports whether routers may have a circuit in a state, other than one that is being released.
func mayBeOnRouters(s life.State) bool {
	return s == life.Provisioning || s == life.Active || s == life.Interrupted || s == life.Deactivating
}

// regrant decides on other terms of a circuit over a window: on the path that it has, or on another one where that is
// requested, or where it has not begun and no router may have it.
func (b *book) regrant(was *circuitsv1.Record, terms *circuitsv1.Terms, w calendar.Window, now time.Time) (forth, back *admit.Grant, err error) {
	c, g := was.GetCircuit(), grantOf(was)
	if otherPath(c, terms) {
		return b.anew(was, terms, w, now)
	}
	var blockers []admit.Blocker
	omitted := 0
	if terms.GetVolumeBytes() == 0 {
		// While a change set gives routers another rate they may have either.
		g.Slots = admit.Resized(g.Slots, w, max(terms.GetRateBitsPerSecond(), was.GetLife().GetHadBitsPerSecond()))
		if len(g.Slots) > admit.MaxSlots {
			return nil, nil, wrong("rate_bits_per_second", "it was changed %d times; request a new circuit", admit.MaxSlots)
		}
		way, _ := backOf(was)
		way.Slots = g.Slots
		blockers, omitted = b.admit.Lacking(c.GetId(), g.Slots)
		for _, id := range []string{way.ID, hadID(c.GetId())} { // of those that there are
			more, and := b.admit.Lacking(id, way.Slots)
			blockers, omitted = append(blockers, more...), omitted+and
		}
		if len(blockers) == 0 {
			return &g, &way, nil
		}
	}
	if w.Start > c.GetSlots()[0].GetStart().GetSeconds() || mayBeOnRouters(ledger.NameOf(c.GetState())) {
		return nil, nil, refused{b.refusalOf(&admit.Refusal{
			Code: admit.Capacity, Blockers: blockers, Omitted: omitted,
			Reason: "links of its path lack room, and the path of a circuit that has begun stays unless another one is requested",
		}, terms, admit.Request{})}
	}
	return b.anew(was, terms, w, now)
}

// rewritten is a record with what was granted.
func (b *book) rewritten(was *circuitsv1.Record, terms *circuitsv1.Terms, g, back *admit.Grant, ask *circuitsv1.ModifyRequest, now time.Time) *circuitsv1.Record {
	is := proto.CloneOf(was)
	is.Circuit.Terms, is.Circuit.Slots, is.Circuit.Preempted = terms, slotsOf(g), nil
	if has := grantOf(was); !sameLinks(has, *g) {
		is.Circuit.Path, is.Circuit.Backup = b.hopsOf(g.Path), b.hopsOf(g.Backup)
	}
	if has, both := backOf(was); both && !sameLinks(has, *back) {
		is.Circuit.Back = b.hopsOf(back.Path)
	}
	l := given(was, is, ask.GetBy())
	l.Start, l.End = startOf(was, g.Slots), g.Slots[len(g.Slots)-1].End
	l.Expires = min(l.Expires, l.End)
	note := fmt.Sprintf("modified: %s, to %s", rateText(terms), endText(terms.GetEnd()))
	if otherPath(was.GetCircuit(), terms) {
		note += ", via " + b.pathText(is.GetCircuit().GetPath())
	}
	if ask.GetNote() != "" {
		note += "; " + ask.GetNote()
	}
	l.Moves = []life.Move{{To: l.State, By: ask.GetBy(), Note: note}}
	return ledger.With(is, l, now)
}

func rateText(t *circuitsv1.Terms) string {
	mbit := float64(t.GetRateBitsPerSecond()) / mega
	switch {
	case t.GetVolumeBytes() == 0:
		return fmt.Sprintf("%g Mbit/s", mbit)
	case mbit == 0:
		return fmt.Sprintf("%g GB", float64(t.GetVolumeBytes())/giga)
	}
	return fmt.Sprintf("%g GB at %g Mbit/s at most", float64(t.GetVolumeBytes())/giga, mbit)
}

func endText(at *timestamppb.Timestamp) string {
	if at == nil {
		return "its release"
	}
	return at.AsTime().Format(time.RFC3339)
}
