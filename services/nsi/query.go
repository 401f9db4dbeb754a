package nsi

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/soap"
)

// maxAnswer is how long an answer is that can be recorded; etcd takes 1.5 MiB at once.
const maxAnswer = 1 << 20

// later answers a query by a message, which is recorded before it is acknowledged.
func (c *Component) later(ctx context.Context, a asked) (soap.Element, *exception) {
	if a.header.ReplyTo == "" {
		return soap.Element{}, fail(missing, "replyTo is missing; without one request %sSync", a.Operation).with("replyTo", "")
	}
	answer, no := c.query(ctx, a)
	if no != nil {
		return answer, no
	}
	if len(answer.Bytes()) > maxAnswer {
		return answer, fail(noResource, "the answer has more than %d octets; name those connections that you want", maxAnswer)
	}
	m := &nsiv1.Message{
		Name: a.Operation + "Confirmed", Correlation: a.header.CorrelationID, Requester: a.header.RequesterNSA, ReplyTo: a.header.ReplyTo,
		Body: answer.Bytes(), Time: timestamppb.New(c.deps.Now()),
	}
	if err := c.deps.State.Apply(ctx, state.Op{Key: answers + a.header.CorrelationID, Value: m}); err != nil {
		return answer, fail(internal, "etcd does not answer; ask again")
	}
	return soap.E("t:acknowledgment"), nil
}

// query answers at once.
func (c *Component) query(ctx context.Context, a asked) (soap.Element, *exception) {
	name := "t:" + a.Operation + "Confirmed"
	switch strings.TrimSuffix(a.Operation, "Sync") {
	case "queryNotification", "queryResult":
		r, _, no := c.mine(ctx, a)
		if no != nil {
			return soap.Element{}, no
		}
		if strings.HasPrefix(a.Operation, "queryResult") {
			return soap.E(name, results(r, a)...), nil
		}
		return soap.E(name, notifications(r, a)...), nil
	}
	return c.summaries(ctx, a, name)
}

// maxSummaries is how many connections one answer has.
const maxSummaries = 2000

// summaries are the connections of a requester that a query names; all of them where it names none. What is not there
// is left out.
func (c *Component) summaries(ctx context.Context, a asked, name string) (soap.Element, *exception) {
	var since time.Time
	if a.Since != "" {
		at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(a.Since))
		if err != nil {
			return soap.Element{}, fail(payload, "ifModifiedSince %q is no time with a zone", a.Since).with("ifModifiedSince", a.Since)
		}
		since = at
	}
	all, _, err := c.deps.State.Snapshot(ctx, connections)
	if err != nil {
		return soap.Element{}, fail(internal, "etcd does not answer; ask again")
	}
	var found []soap.Element
	var newest time.Time
	for _, e := range all {
		r := &nsiv1.Connection{}
		if err := proto.Unmarshal(e.Value, r); err != nil {
			return soap.Element{}, fail(internal, "a record cannot be read")
		}
		named := len(a.IDs)+len(a.GlobalIDs) == 0 || slices.Contains(a.IDs, r.GetId()) || r.GetGlobalId() != "" && slices.Contains(a.GlobalIDs, r.GetGlobalId())
		if !named || r.GetRequester() != a.header.RequesterNSA || r.GetChanged().AsTime().Before(since) {
			continue
		}
		if len(found) == maxSummaries {
			return soap.Element{}, fail(noResource, "more than %d connections; name those that you want", maxSummaries)
		}
		found = append(found, c.summary(r))
		if r.GetChanged().AsTime().After(newest) {
			newest = r.GetChanged().AsTime()
		}
	}
	if strings.HasPrefix(name, "t:querySummary") {
		found = append(found, soap.Time("lastModified", newest))
	}
	return soap.E(name, found...), nil
}

// summary is a connection with its version in force. This network has no children, so the recursive one is the same.
func (c *Component) summary(r *nsiv1.Connection) soap.Element {
	var criteria, notification, result soap.Element
	if r.GetVersion() > 0 {
		criteria = criteriaElement(r, r.GetCriteria(), r.GetVersion())
	}
	if n := len(r.GetNotifications()); n > 0 {
		notification = soap.T("notificationId", strconv.FormatInt(r.GetNotifications()[n-1].GetId(), 10))
	}
	if n := len(r.GetResults()); n > 0 {
		result = soap.T("resultId", strconv.FormatInt(r.GetResults()[n-1].GetId(), 10))
	}
	return soap.E("reservation", soap.T("connectionId", r.GetId()), soap.Optional("globalReservationId", r.GetGlobalId()),
		soap.Optional("description", r.GetDescription()), criteria, soap.T("requesterNSA", r.GetRequester()), statesElement(r), notification, result)
}

// between are the messages whose ids are in a range; 0 is no bound.
func between(all []*nsiv1.Message, first, last int64) (out []*nsiv1.Message) {
	for _, m := range all {
		if m.GetId() >= first && (last == 0 || m.GetId() <= last) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *nsiv1.Message) int { return cmp.Compare(a.GetId(), b.GetId()) })
	return out
}

func notifications(r *nsiv1.Connection, a asked) (out []soap.Element) {
	for _, m := range between(r.GetNotifications(), a.FirstNotice, a.LastNotice) {
		out = append(out, soap.Raw(m.GetBody()))
	}
	return out
}

func results(r *nsiv1.Connection, a asked) (out []soap.Element) {
	for _, m := range between(r.GetResults(), a.FirstResult, a.LastResult) {
		out = append(out, soap.E("result", soap.T("resultId", strconv.FormatInt(m.GetId(), 10)), soap.T("correlationId", m.GetCorrelation()),
			soap.Time("timeStamp", m.GetTime().AsTime()), soap.Raw(bytes.Clone(m.GetBody()))))
	}
	return out
}
