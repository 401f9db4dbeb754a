package circuits

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/restore"
)

// A decision without a topology, or on one that may not be so any more, would be a guess.
var (
	errNoTopology  = errors.New("the topology is not known yet; ask again in some seconds")
	errOldTopology = errors.New("the topology was not read for too long (circuits.topology_age); see whether services/paths and the topology collector run, and that topology.interval and topology.republish are shorter; then ask again")
)

// known is nil where all is that a decision needs.
func (b *book) known() error {
	if err := b.seen(); err != nil {
		return err
	}
	return b.guarantee.why
}

// seen is nil where the topology is known.
func (b *book) seen() error {
	switch {
	case b.admit == nil:
		return errNoTopology
	case time.Since(b.read) > b.cfg.TopologyAge:
		return errOldTopology
	}
	return nil
}

// decision is what is granted, on which request.
type decision struct {
	*admit.Grant
	admit.Request
	// back and on are of a circuit between ports.
	back *admit.Grant
	on   attached
	// displaced are circuits that make room.
	displaced []displaced
}

// decide grants terms or refuses them. It is called while the book does not change. Others are displaced only where the
// circuit is committed at once: a hold that nobody commits would have displaced them for nothing.
func (b *book) decide(id, by string, t *circuitsv1.Terms, commit bool, now time.Time) (d decision, err error) {
	if err := b.known(); err != nil {
		return d, err
	}
	if d.Request, err = b.request(id, t, now); err != nil {
		return d, err
	}
	if err := b.mayBook(by, t, d.Request, now); err != nil {
		return d, err
	}
	var attachErr error
	if d.on, attachErr = b.attach(t, d.Request); attachErr != nil {
		return d, b.fitting(attachErr, d.Request)
	}
	if err := b.admitted(&d, t, commit, now); err != nil {
		return d, err
	}
	return d, b.within(t.GetProject(), d.Grant)
}

// admitted looks for room, and for circuits that make room where there is none.
func (b *book) admitted(d *decision, t *circuitsv1.Terms, commit bool, now time.Time) error {
	if commit && setupOf(t) < restore.Last {
		var no *admit.Refusal
		if d.Grant, d.back, d.displaced, no = b.pathsDisplacing(d.Request, t, now); no == nil {
			return nil
		}
	}
	var no *admit.Refusal
	if d.Grant, d.back, no = b.paths(d.Request, between(t)); no == nil {
		return nil
	}
	if setupOf(t) < restore.Last && !commit {
		no.Reason += "; a hold, or one of a batch, displaces no other circuit: request it alone, and commit it at once"
	}
	return b.refusal(no, t, d.Request)
}

// booked is the record of a circuit that is granted: held, or committed at once where that was requested, so that no
// answer in between can be lost. The transitions are in it.
func (b *book) booked(id string, ask *circuitsv1.RequestRequest, alone bool, now time.Time) (*circuitsv1.Record, []life.Move, []displaced, error) {
	terms := normal(ask.GetTerms())
	if err := b.cfg.mayCommit(ask.GetBy(), terms); ask.GetCommit() && err != nil {
		return nil, nil, nil, err
	}
	d, err := b.decide(id, ask.GetBy(), terms, alone && ask.GetCommit(), now)
	if err == nil && !ask.GetCommit() {
		err = b.mayHold(terms.GetProject())
	}
	if err != nil {
		return nil, nil, nil, err
	}
	g, r := d.Grant, d.Request
	terms.Start, terms.End = moment(r.Start), moment(r.End)
	end := g.Slots[len(g.Slots)-1].End
	record := &circuitsv1.Record{Circuit: &circuitsv1.Circuit{
		Id: id, Terms: terms, Slots: slotsOf(g), Path: b.hopsOf(g.Path), Backup: b.hopsOf(g.Backup),
		Holder: ask.GetBy(), RequestId: ask.GetRequestId(), Created: timestamppb.New(now),
		Back: b.backHops(d.back), FromVlan: int32(d.on.vlans[0]), ToVlan: int32(d.on.vlans[1]), Number: int32(d.on.number),
		Displaced: answerOf(d.displaced),
	}}
	moves := []life.Move{{To: life.Held, By: ask.GetBy()}}
	c := life.Circuit{State: life.Held, Start: g.Slots[0].Start, End: end, Expires: min(now.Add(b.cfg.Hold).Unix(), end)}
	c.Deactivated = terms.GetActivation() == circuitsv1.Activation_ACTIVATION_MANUAL
	if ask.GetCommit() {
		c, _ = life.Next(c, life.Event{Kind: life.Commit, By: ask.GetBy(), Now: now.Unix()})
		moves = append(moves, c.Moves...)
	}
	c.Moves = moves
	return ledger.With(record, c, now), moves, d.displaced, nil
}

// newID sorts after those that were made before.
func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return id.String(), nil
}

// digest is the same for the same request only.
func digest(ask proto.Message) ([]byte, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	sum := sha256.Sum256(raw)
	return sum[:], nil
}
