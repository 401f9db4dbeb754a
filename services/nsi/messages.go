package nsi

import (
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/soap"
	"github.com/millrace/millrace/services/nsi/states"
)

// maxKept is how many results, and how many notifications, a connection keeps of those that were delivered.
const maxKept = 50

// timeOf is the zero time where there is none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// criteriaElement are criteria of a version.
func criteriaElement(r *nsiv1.Connection, c *nsiv1.Criteria, version int32, extra ...soap.Element) soap.Element {
	direction := "Bidirectional"
	if c.GetOneWay() {
		direction = "Unidirectional"
	}
	children := append([]soap.Element{
		soap.E("schedule", soap.Time("startTime", timeOf(c.GetStart())), soap.Time("endTime", timeOf(c.GetEnd()))),
		soap.T("serviceType", r.GetServiceType()),
	}, extra...)
	children = append(children, soap.E("p:p2ps", soap.T("capacity", strconv.FormatInt(c.GetMbit(), 10)), soap.T("directionality", direction),
		soap.T("sourceSTP", c.GetSource()), soap.T("destSTP", c.GetDestination())))
	return soap.E("criteria", children...).With("version", strconv.Itoa(int(version)))
}

// statesElement are the states of a connection.
func statesElement(r *nsiv1.Connection) soap.Element {
	return soap.E("connectionStates", soap.T("reservationState", r.GetReservation()), soap.T("provisionState", r.GetProvision()),
		soap.T("lifecycleState", r.GetLifecycle()), dataPlane(r))
}

func dataPlane(r *nsiv1.Connection) soap.Element {
	return soap.E("dataPlaneStatus", soap.T("active", strconv.FormatBool(r.GetActive())), soap.T("version", strconv.Itoa(int(r.GetVersion()))),
		soap.T("versionConsistent", "true"))
}

// result is the element that answers a request. before is the connection as it was.
func (c *Component) result(name string, before, r *nsiv1.Connection, no *exception) soap.Element {
	switch {
	case name == "error":
		return soap.E("t:error", c.exception("serviceException", no))
	case no != nil:
		no.connection = r.GetId()
		return soap.E("t:"+name, soap.T("connectionId", r.GetId()), statesElement(r), c.exception("serviceException", no))
	case name == "reserveConfirmed":
		return soap.E("t:"+name, soap.T("connectionId", r.GetId()), soap.Optional("globalReservationId", r.GetGlobalId()),
			soap.Optional("description", r.GetDescription()), criteriaElement(r, r.GetAsked(), before.GetHeld()))
	}
	return soap.E("t:"+name, soap.T("connectionId", r.GetId()))
}

// answered adds what a request is answered with.
func (c *Component) answered(r *nsiv1.Connection, w *nsiv1.Work, name string, body soap.Element) {
	r.LastId++
	r.Results = bounded(append(r.Results, &nsiv1.Message{
		Id: r.GetLastId(), Name: name, Correlation: w.GetCorrelation(), Requester: r.GetRequester(), ReplyTo: w.GetReplyTo(),
		Body: body.Bytes(), Time: timestamppb.New(c.deps.Now()), Told: w.GetReplyTo() == "",
	}))
}

// notify adds an event. It goes where the last reserve came from.
func (c *Component) notify(r *nsiv1.Connection, name, text string) {
	r.LastId++
	now := c.deps.Now()
	children := []soap.Element{soap.T("connectionId", r.GetId()), soap.T("notificationId", strconv.FormatInt(r.GetLastId(), 10)), soap.Time("timeStamp", now)}
	origin := []soap.Element{soap.T("originatingConnectionId", r.GetId()), soap.T("originatingNSA", c.cfg.NSA)}
	switch name {
	case "reserveTimeout":
		children = append(children, soap.T("timeoutValue", text))
		children = append(children, origin...)
	case "errorEvent":
		no := fail(service, "%s", text)
		no.connection = r.GetId()
		children = append(append(append(children, soap.T("event", "forcedEnd")), origin...), c.exception("serviceException", no))
	case dataPlaneChange:
		children = append(children, dataPlane(r))
	case "messageDeliveryTimeout":
		children = append(children, soap.T("correlationId", text))
	}
	told := r.GetReplyTo() == "" || name == "messageDeliveryTimeout"
	r.Notifications = bounded(append(r.Notifications, &nsiv1.Message{
		Id: r.GetLastId(), Name: name, Correlation: r.GetCorrelation(), Requester: r.GetRequester(), ReplyTo: r.GetReplyTo(),
		Body: soap.E("t:"+name, children...).Bytes(), Time: timestamppb.New(now), Told: told,
	}))
}

// dataPlaneChange is the notification of whether routers carry a connection.
const dataPlaneChange = "dataPlaneStateChange"

// bounded leaves out the oldest messages that were delivered. Where none was, the oldest change of the data plane that
// a later one replaces is left out; of other events there are few.
func bounded(all []*nsiv1.Message) []*nsiv1.Message {
	for len(all) > maxKept {
		i := slices.IndexFunc(all[:len(all)-1], func(m *nsiv1.Message) bool { return m.GetTold() || m.GetName() == dataPlaneChange })
		if i < 0 {
			return all
		}
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// happened applies an event to a record, and adds the event that it reports. What answers a request is its own to add.
func (c *Component) happened(r *nsiv1.Connection, e states.Event, text string) (tell string) {
	next, tell, err := states.Next(statesOf(r), e)
	if err != nil {
		return ""
	}
	setStates(r, next)
	switch e {
	case states.HoldOver, states.Up, states.Down, states.Forced:
		if tell != "" {
			c.notify(r, tell, text)
		}
		return ""
	}
	return tell
}
