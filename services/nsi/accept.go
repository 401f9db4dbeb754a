package nsi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/soap"
	"github.com/millrace/millrace/services/nsi/states"
)

// Keys in etcd.
const (
	connections = "nsi/connections/"
	takenIDs    = "nsi/requests/"
	answers     = "nsi/answers/"
	// KeyLeader is held by the replica that does the work and sends messages.
	KeyLeader = "nsi/lock"
)

// maxTries is how often a record that another replica changes at the same time is read again.
const maxTries = 20

// one is the single connectionId of a request.
func (a asked) one() string {
	if len(a.IDs) != 1 {
		return ""
	}
	return strings.TrimSpace(a.IDs[0])
}

// digest is the same for the same request only, however it is spelled.
func (a asked) digest() []byte {
	raw, err := json.Marshal([]any{a.header, a.Request})
	if err != nil {
		panic(err) // plain values
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

func (a asked) work() *nsiv1.Work {
	return &nsiv1.Work{Operation: a.Operation, Correlation: a.header.CorrelationID, ReplyTo: a.header.ReplyTo}
}

// accepted is what a request that was taken before is answered with: the connection. Empty: it is new.
func (c *Component) accepted(ctx context.Context, a asked) (string, *exception) {
	was := &nsiv1.Taken{}
	_, err := c.deps.State.Get(ctx, takenIDs+a.header.CorrelationID, was)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return "", nil
	case err != nil:
		return "", fail(internal, "etcd does not answer; ask again with the same correlationId")
	case string(was.GetDigest()) != string(a.digest()):
		return "", fail(payload, "correlationId %s was used for another request", a.header.CorrelationID).with("correlationId", a.header.CorrelationID)
	}
	*a.repeated = true
	return was.GetConnection(), nil
}

// take records a connection and the request that changed it, in one transaction.
func (c *Component) take(ctx context.Context, a asked, is *nsiv1.Connection, revision int64) error {
	is.Changed = timestamppb.New(c.deps.Now())
	taken := &nsiv1.Taken{Connection: is.GetId(), Digest: a.digest(), Time: is.GetChanged()}
	key, used := connections+is.GetId(), takenIDs+a.header.CorrelationID
	_, err := c.deps.State.Commit(ctx, []state.Guard{{Key: key, Revision: revision}, {Key: used}},
		state.Op{Key: key, Value: is}, state.Op{Key: used, Value: taken})
	return err
}

// change takes a request: apply makes the connection after it of the one before.
func (c *Component) change(ctx context.Context, a asked, apply func(*nsiv1.Connection) (*nsiv1.Connection, *exception)) (string, *exception) {
	for range maxTries {
		if id, no := c.accepted(ctx, a); id != "" || no != nil {
			return id, no
		}
		was, revision, no := c.mine(ctx, a)
		if no != nil {
			return "", no
		}
		is, no := apply(was)
		if no != nil {
			return "", no
		}
		switch err := c.take(ctx, a, is, revision); {
		case err == nil:
			return is.GetId(), nil
		case !errors.Is(err, state.ErrConflict):
			return "", fail(internal, "etcd does not answer; ask again with the same correlationId")
		}
	}
	return "", fail(internal, "others change the connection at once; ask again")
}

// mine reads the connection of a request; without an id there is none. One of another requester is not there.
func (c *Component) mine(ctx context.Context, a asked) (*nsiv1.Connection, int64, *exception) {
	if a.Operation == string(states.Reserve) && len(a.IDs) == 0 {
		return nil, 0, nil
	}
	if a.one() == "" || len(a.one()) > 100 || strings.Contains(a.one(), "/") {
		return nil, 0, fail(missing, "connectionId is missing").with("connectionId", a.one())
	}
	was := &nsiv1.Connection{}
	revision, err := c.deps.State.Get(ctx, connections+a.one(), was)
	switch {
	case errors.Is(err, state.ErrNotFound), err == nil && was.GetRequester() != a.header.RequesterNSA:
		return nil, 0, fail(noReservation, "there is no connection %s", a.one()).with("connectionId", a.one())
	case err != nil:
		return nil, 0, fail(internal, "etcd does not answer; ask again with the same correlationId")
	}
	return was, revision, nil
}

// ask takes what changes a connection that is there.
func (c *Component) ask(ctx context.Context, a asked) (soap.Element, *exception) {
	_, no := c.change(ctx, a, func(was *nsiv1.Connection) (*nsiv1.Connection, *exception) {
		return c.begun(was, a, states.Event(a.Operation))
	})
	return soap.E("t:acknowledgment"), no
}

// begun is a connection with work that a message requests.
func (c *Component) begun(was *nsiv1.Connection, a asked, e states.Event) (*nsiv1.Connection, *exception) {
	next, _, err := states.Next(statesOf(was), e)
	if err != nil {
		no := fail(transition, "%s", err).with("reservationState", was.GetReservation())
		no.connection = was.GetId()
		return nil, no
	}
	if most := maxOpen(e); openRequests(was) >= most {
		no := fail(noResource, "%d requests of the connection are not answered yet, or their answers are not delivered; wait", most)
		no.connection = was.GetId()
		return nil, no
	}
	is := proto.CloneOf(was)
	setStates(is, next)
	is.Work = append(is.Work, a.work())
	return is, nil
}

// maxOpen is how many open requests a connection may have for another one to be accepted. There is always room for it
// to be terminated.
func maxOpen(e states.Event) int {
	if e == states.Terminate {
		return 64
	}
	return 32
}

// openRequests counts the requests that are not answered, and the answers that are not delivered.
func openRequests(r *nsiv1.Connection) int {
	n := len(r.GetWork())
	for _, m := range r.GetResults() {
		if !m.GetTold() {
			n++
		}
	}
	return n
}

// reserve takes a new connection, or a modification of one.
func (c *Component) reserve(ctx context.Context, a asked) (soap.Element, *exception) {
	if a.Criteria == nil {
		return soap.Element{}, fail(missing, "criteria are missing").with("criteria", "")
	}
	id, no := c.change(ctx, a, func(was *nsiv1.Connection) (*nsiv1.Connection, *exception) {
		if was == nil {
			return c.reserved(a)
		}
		return c.modified(was, a)
	})
	return soap.E("t:reserveResponse", soap.T("connectionId", id)), no
}

// reserved is a new connection.
func (c *Component) reserved(a asked) (*nsiv1.Connection, *exception) {
	p := a.Criteria.P2PS
	switch {
	case p == nil:
		return nil, fail(missing, "p2ps is missing").with("p2ps", "")
	case a.Criteria.Version != nil && (*a.Criteria.Version < 0 || *a.Criteria.Version > maxVersion):
		return nil, fail(payload, "a version is 1 to %d", maxVersion)
	case len(a.GlobalIDs) > 1 || utf8.RuneCountInString(a.Description) > maxText || len(a.GlobalIDs) == 1 && len(a.GlobalIDs[0]) > maxText:
		return nil, fail(payload, "one globalReservationId, and texts of at most %d characters", maxText)
	}
	asks, no := criteriaOf(a.Criteria)
	if no != nil {
		return nil, no
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fail(internal, "no id can be made")
	}
	was := &nsiv1.Connection{Id: id.String(), Requester: a.header.RequesterNSA, Description: a.Description, ServiceType: a.Criteria.ServiceType}
	if len(a.GlobalIDs) == 1 {
		was.GlobalId = a.GlobalIDs[0]
	}
	if was.GetServiceType() == "" {
		was.ServiceType = c.cfg.ServiceType
	}
	setStates(was, states.New())
	is, no := c.begun(was, a, states.Reserve)
	if no == nil {
		is.Asked, is.ReplyTo, is.Correlation = asks, a.header.ReplyTo, a.header.CorrelationID
		// OpenNSA requests version 0 of a new reservation.
		if v := a.Criteria.Version; v != nil && *v > 0 {
			is.Held = int32(*v)
		}
	}
	return is, no
}

// maxVersion of a reservation.
const maxVersion = 1 << 30

// maxText is that of descriptions of circuits.
const maxText = 500

// criteriaOf reads the criteria of a new reservation, without its STPs.
func criteriaOf(from *soap.Criteria) (*nsiv1.Criteria, *exception) {
	p := from.P2PS
	out := &nsiv1.Criteria{Mbit: p.Capacity, Source: p.Source, Destination: p.Destination, OneWay: p.Direction == "Unidirectional"}
	switch {
	case p.Capacity < 1 || p.Capacity > maxMbit:
		return nil, fail(payload, "capacity is 1 to %d Mbit/s", int64(maxMbit)).with("capacity", "")
	case p.Direction != "" && p.Direction != "Unidirectional" && p.Direction != "Bidirectional":
		return nil, fail(payload, "directionality is Unidirectional or Bidirectional").with("directionality", p.Direction)
	case len(p.ERO) > 0:
		return nil, fail(wrongERO, "an ERO is not taken: paths inside of this network are its own")
	case len(p.Inclusion)+len(p.Exclusion) > 0:
		return nil, fail(unsupported, "inclusion and exclusion are not taken")
	}
	return out, readSchedule(from.Schedule, out)
}

const maxMbit = (1 << 60) / mega

// readSchedule sets the times that a schedule has.
func readSchedule(from *soap.Schedule, into *nsiv1.Criteria) *exception {
	if from == nil {
		return nil
	}
	for _, at := range []struct {
		name string
		text *soap.Moment
		into **timestamppb.Timestamp
	}{{"startTime", from.Start, &into.Start}, {"endTime", from.End, &into.End}} {
		if at.text == nil {
			continue
		}
		text := strings.TrimSpace(at.text.Text)
		if text == "" { // xsi:nil: none
			*at.into = nil
			continue
		}
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || parsed.Year() < 1970 || parsed.Year() > 9000 {
			return fail(payload, "%s %q is no time with a zone, such as 2026-11-23T22:00:00Z", at.name, text).with(at.name, text)
		}
		*at.into = timestamppb.New(parsed.Truncate(time.Second))
	}
	return nil
}

// modified is a connection of which another version is requested: another capacity, another end.
func (c *Component) modified(was *nsiv1.Connection, a asked) (*nsiv1.Connection, *exception) {
	from := a.Criteria
	asks := proto.CloneOf(was.GetCriteria())
	switch {
	case was.GetVersion() == 0:
		return nil, fail(transition, "connection %s was never committed; reserve a new one", was.GetId())
	case from.Version != nil && (*from.Version > maxVersion || *from.Version <= int(was.GetVersion())):
		return nil, fail(payload, "version %d is in force; request a higher one", was.GetVersion())
	}
	if p := from.P2PS; p != nil {
		if !c.sameEnds(p, asks) {
			return nil, fail(unsupported, "the ends and the direction of a connection stay")
		}
		asks.Mbit = p.Capacity
	}
	if from.Capacity != nil {
		asks.Mbit = *from.Capacity
	}
	if asks.GetMbit() < 1 || asks.GetMbit() > maxMbit {
		return nil, fail(payload, "capacity is 1 to %d Mbit/s", int64(maxMbit))
	}
	if no := readSchedule(from.Schedule, asks); no != nil {
		return nil, no
	}
	if from.Schedule != nil && from.Schedule.Start != nil && !asks.GetStart().AsTime().Equal(was.GetCriteria().GetStart().AsTime()) {
		return nil, fail(unsupported, "the start of a connection stays").with("startTime", from.Schedule.Start.Text)
	}
	is, no := c.begun(was, a, states.Reserve)
	if no == nil {
		is.Asked, is.ReplyTo, is.Correlation = asks, a.header.ReplyTo, a.header.CorrelationID
		if from.Version != nil {
			is.Held = int32(*from.Version)
		}
	}
	return is, no
}

// sameEnds: an end may be named without its VLAN, or with the one that it got.
func (c *Component) sameEnds(p *soap.P2PS, has *nsiv1.Criteria) bool {
	same := func(asked, has string) bool {
		id, _, _ := strings.Cut(has, "?")
		return asked == "" || asked == has || asked == id
	}
	return same(p.Source, has.GetSource()) && same(p.Destination, has.GetDestination()) && (p.Direction == "" || has.GetOneWay() == (p.Direction == "Unidirectional"))
}

// statesOf is what states.Next takes of a record.
func statesOf(r *nsiv1.Connection) states.Connection {
	return states.Connection{
		Reservation: states.Reservation(r.GetReservation()), Provision: states.Provision(r.GetProvision()), Lifecycle: states.Lifecycle(r.GetLifecycle()),
		Active: r.GetActive(), Version: int(r.GetVersion()), Held: int(r.GetHeld()),
	}
}

func setStates(r *nsiv1.Connection, s states.Connection) {
	r.Reservation, r.Provision, r.Lifecycle = string(s.Reservation), string(s.Provision), string(s.Lifecycle)
	r.Active, r.Version, r.Held = s.Active, int32(s.Version), int32(s.Held)
}
