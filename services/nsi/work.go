package nsi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/states"
)

// outcome is what came of a request.
type outcome struct {
	event states.Event
	// failed names the message that reports an exception.
	failed string
	no     *exception
	// set changes the record.
	set func(*nsiv1.Connection)
}

// update changes a record while no other replica does. Where change is false nothing is written.
func (c *Component) update(ctx context.Context, id string, change func(*nsiv1.Connection) bool) error {
	for range maxTries {
		was := &nsiv1.Connection{}
		revision, err := c.deps.State.Get(ctx, connections+id, was)
		if err != nil {
			return err
		}
		if !change(was) {
			return nil
		}
		was.Changed = timestamppb.New(c.deps.Now())
		if _, err = c.deps.State.Put(ctx, connections+id, revision, was); !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("connection %s: %w", id, state.ErrConflict)
}

// work does what etcd has as first to be done for a connection, and records it with the message that reports it. Where
// the process dies in between, the next one does it again: every call to services/circuits may be repeated.
func (c *Component) work(ctx context.Context, id string) error {
	r := &nsiv1.Connection{}
	if _, err := c.deps.State.Get(ctx, connections+id, r); err != nil || len(r.GetWork()) == 0 {
		return err
	}
	w := r.GetWork()[0]
	out, err := c.perform(ctx, r, w)
	if err != nil {
		return fmt.Errorf("connection %s, %s: %w", r.GetId(), w.GetOperation(), err)
	}
	return c.update(ctx, r.GetId(), func(is *nsiv1.Connection) bool {
		if len(is.GetWork()) == 0 || !proto.Equal(is.GetWork()[0], w) {
			return false
		}
		before := proto.CloneOf(is)
		is.Work = is.GetWork()[1:]
		if out.set != nil {
			out.set(is)
		}
		name := out.failed
		if tell := c.happened(is, out.event, ""); tell != "" {
			name = tell
		}
		c.answered(is, w, name, c.result(name, before, is, out.no))
		return true
	})
}

// perform requests from services/circuits what a request needs.
func (c *Component) perform(ctx context.Context, r *nsiv1.Connection, w *nsiv1.Work) (outcome, error) {
	switch states.Event(w.GetOperation()) {
	case states.Reserve:
		if r.GetVersion() > 0 {
			return c.tryModification(ctx, r)
		}
		return c.hold(ctx, r)
	case states.Commit:
		if r.GetVersion() > 0 {
			return c.modify(ctx, r)
		}
		return c.commit(ctx, r)
	case states.Abort:
		if r.GetVersion() > 0 {
			return outcome{event: states.AbortDone, set: forget}, nil
		}
		return c.given(ctx, r, outcome{event: states.AbortDone, set: forget}, "aborted")
	case states.Provide:
		return c.each(r, states.ProvideDone, func(id, by string) error {
			_, err := c.deps.Circuits.Activate(ctx, connect.NewRequest(&circuitsv1.ActivateRequest{Id: id, By: by, Note: "NSI provision"}))
			return err
		})
	case states.Release:
		return c.each(r, states.ReleaseDone, func(id, by string) error {
			_, err := c.deps.Circuits.Deactivate(ctx, connect.NewRequest(&circuitsv1.DeactivateRequest{Id: id, By: by, Note: "NSI release"}))
			return err
		})
	}
	return c.given(ctx, r, outcome{event: states.TerminateDone}, "terminated")
}

// given is done once all circuits are given up, else an error of the requester.
func (c *Component) given(ctx context.Context, r *nsiv1.Connection, done outcome, note string) (outcome, error) {
	if no, err := c.giveUp(ctx, r, note); no != nil || err != nil {
		return outcome{failed: "error", no: no}, err
	}
	return done, nil
}

func forget(r *nsiv1.Connection) { r.Asked, r.Hold = nil, nil }

// hold requests the circuits of a new connection.
func (c *Component) hold(ctx context.Context, r *nsiv1.Connection) (outcome, error) {
	refuse := func(no *exception) (outcome, error) {
		return outcome{event: states.ReserveRefused, failed: "reserveFailed", no: no}, nil
	}
	source, no := c.cfg.end("sourceSTP", r.GetAsked().GetSource())
	if no != nil {
		return refuse(no)
	}
	destination, no := c.cfg.end("destSTP", r.GetAsked().GetDestination())
	if no != nil {
		return refuse(no)
	}
	terms, no := c.terms(r, source, destination)
	if no != nil {
		return refuse(no)
	}
	ask := &circuitsv1.RequestAllRequest{RequestId: "nsi-" + r.GetId(), Terms: terms, By: c.cfg.Requesters[r.GetRequester()].By}
	got, err := c.deps.Circuits.RequestAll(ctx, connect.NewRequest(ask))
	if err != nil {
		no, err := refused(err)
		if no != nil {
			return refuse(no.with("capacity", fmt.Sprint(r.GetAsked().GetMbit())))
		}
		return outcome{}, err
	}
	return outcome{event: states.ReserveDone, set: func(is *nsiv1.Connection) {
		is.Circuits = nil
		for _, circuit := range got.Msg.GetCircuits() {
			is.Circuits = append(is.Circuits, circuit.GetId())
		}
		first := got.Msg.GetCircuits()[0]
		is.Asked.Source, is.Asked.Destination = source.labelled(first.GetFromVlan()), destination.labelled(first.GetToVlan())
		is.Asked.Start, is.Hold = first.GetTerms().GetStart(), first.GetExpires()
	}}, nil
}

// terms are those of the circuits of a connection: one between ports, one per direction between prefixes.
func (c *Component) terms(r *nsiv1.Connection, from, to end) ([]*circuitsv1.Terms, *exception) {
	asks := r.GetAsked()
	one := &circuitsv1.Terms{
		Project: c.cfg.Requesters[r.GetRequester()].Project, From: from.Router, To: to.Router, RateBitsPerSecond: asks.GetMbit() * mega,
		Start: asks.GetStart(), End: asks.GetEnd(), Activation: circuitsv1.Activation_ACTIVATION_MANUAL,
		Description: short("NSI connection " + r.GetId() + " " + r.GetDescription()),
	}
	switch {
	case (from.Port == "") != (to.Port == ""):
		return nil, fail(service, "one end is a port, the other one prefixes")
	case from.Port != "" && asks.GetOneWay():
		return nil, fail(oneWay, "a connection between ports has both directions").with("directionality", "Unidirectional")
	case from.Port != "":
		one.FromPort, one.ToPort = &circuitsv1.Port{Name: from.Port, Vlans: from.vlans}, &circuitsv1.Port{Name: to.Port, Vlans: to.vlans}
		return []*circuitsv1.Terms{one}, nil
	}
	for _, s := range from.Prefixes {
		for _, d := range to.Prefixes {
			one.Pairs = append(one.Pairs, &circuitsv1.PrefixPair{Source: s, Destination: d})
		}
	}
	if asks.GetOneWay() {
		return []*circuitsv1.Terms{one}, nil
	}
	back := proto.CloneOf(one)
	back.From, back.To = one.GetTo(), one.GetFrom()
	for _, p := range back.GetPairs() {
		p.Source, p.Destination = p.GetDestination(), p.GetSource()
	}
	return []*circuitsv1.Terms{one, back}, nil
}

func short(text string) string {
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText])
}

// commit books what is held. Where one direction cannot be booked, none is.
func (c *Component) commit(ctx context.Context, r *nsiv1.Connection) (outcome, error) {
	out, err := c.each(r, states.CommitDone, func(id, by string) error {
		_, err := c.deps.Circuits.Commit(ctx, connect.NewRequest(&circuitsv1.CommitRequest{Id: id, By: by}))
		return err
	})
	switch {
	case err != nil:
		return out, err
	case out.no != nil:
		out.event, out.failed = states.CommitRefused, "reserveCommitFailed"
		stays, err := c.giveUp(ctx, r, "not committed")
		if stays != nil {
			out.no.text += "; not given up: " + stays.text
		}
		return out, err
	}
	out.set = settle
	return out, nil
}

// settle: what was requested is in force.
func settle(r *nsiv1.Connection) { r.Criteria, r.Asked, r.Hold = r.GetAsked(), nil, nil }

// each does something for every circuit.
func (c *Component) each(r *nsiv1.Connection, done states.Event, do func(id, by string) error) (outcome, error) {
	for _, id := range r.GetCircuits() {
		if err := do(id, c.cfg.Requesters[r.GetRequester()].By); err != nil {
			no, err := refused(err)
			if no != nil {
				return outcome{failed: "error", no: no}, nil
			}
			return outcome{}, err
		}
	}
	return outcome{event: done}, nil
}

// giveUp releases all circuits; those that are over are. A refusal keeps no other circuit from being released.
func (c *Component) giveUp(ctx context.Context, r *nsiv1.Connection, note string) (no *exception, err error) {
	for _, id := range r.GetCircuits() {
		ask := &circuitsv1.ReleaseRequest{Id: id, By: c.cfg.Requesters[r.GetRequester()].By, Note: "NSI: " + note}
		_, err := c.deps.Circuits.Release(ctx, connect.NewRequest(ask))
		switch connect.CodeOf(err) {
		case connect.CodeNotFound, connect.CodeFailedPrecondition: // there is nothing to release
			continue
		}
		refusal, err := refused(err)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			no = refusal
		}
	}
	return no, nil
}

// tryModification checks whether other terms would fit. Nothing is held for them.
func (c *Component) tryModification(ctx context.Context, r *nsiv1.Connection) (outcome, error) {
	no, err := c.rebook(ctx, r, true)
	switch {
	case err != nil:
		return outcome{}, err
	case no != nil:
		return outcome{event: states.ReserveRefused, failed: "reserveFailed", no: no}, nil
	}
	hold := timestamppb.New(c.deps.Now().Add(c.cfg.Hold))
	return outcome{event: states.ReserveDone, set: func(is *nsiv1.Connection) { is.Hold = hold }}, nil
}

// modify changes the circuit; room may be gone since it was looked for.
func (c *Component) modify(ctx context.Context, r *nsiv1.Connection) (outcome, error) {
	no, err := c.rebook(ctx, r, false)
	switch {
	case err != nil:
		return outcome{}, err
	case no != nil:
		return outcome{event: states.CommitRefused, failed: "reserveCommitFailed", no: no, set: forget}, nil
	}
	return outcome{event: states.CommitDone, set: settle}, nil
}

func (c *Component) rebook(ctx context.Context, r *nsiv1.Connection, dry bool) (*exception, error) {
	if len(r.GetCircuits()) != 1 {
		return fail(notThere, "a connection of two circuits is not modified; reserve a new one"), nil
	}
	is, err := c.deps.Circuits.Get(ctx, connect.NewRequest(&circuitsv1.GetRequest{Id: r.GetCircuits()[0]}))
	if err != nil {
		return refused(err)
	}
	if no := asTheyAre(is.Msg.GetCircuit(), r.GetAsked()); no != nil {
		return no, nil
	}
	ask := &circuitsv1.ModifyRequest{
		Id: r.GetCircuits()[0], By: c.cfg.Requesters[r.GetRequester()].By, Note: "NSI modify", Version: is.Msg.GetCircuit().GetVersion(),
		RateBitsPerSecond: r.GetAsked().GetMbit() * mega, End: r.GetAsked().GetEnd(), OpenEnded: r.GetAsked().GetEnd() == nil, DryRun: dry,
	}
	got, err := c.deps.Circuits.Modify(ctx, connect.NewRequest(ask))
	switch {
	case connect.CodeOf(err) == connect.CodeAborted: // its state changed meanwhile
		return nil, err
	case err != nil:
		return refused(err)
	case got.Msg.GetRefusal() != nil:
		return refusedWith(got.Msg.GetRefusal()), nil
	}
	return nil, nil
}

// asTheyAre refuses another capacity of a circuit that routers may have. Routers that do not take it keep the one of
// before, of which nothing in NSI tells a requester whose commit was confirmed.
func asTheyAre(has *circuitsv1.Circuit, asks *nsiv1.Criteria) *exception {
	switch has.GetState() {
	case circuitsv1.State_STATE_PROVISIONING, circuitsv1.State_STATE_ACTIVE, circuitsv1.State_STATE_INTERRUPTED, circuitsv1.State_STATE_DEACTIVATING:
		if has.GetTerms().GetRateBitsPerSecond() != asks.GetMbit()*mega {
			return fail(service, "routers have circuit %s; release the connection, then ask for another capacity", has.GetId()).
				with("capacity", strconv.FormatInt(asks.GetMbit(), 10))
		}
	}
	return nil
}
