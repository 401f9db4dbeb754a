package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

var _ rpc.Recorder = (*Component)(nil)

// unwritten is the refusal of what could not be recorded.
const unwritten = "audit"

var errUnwritten = errors.New("nothing was done: the audit record of it cannot be written")

// withoutRecord refuses a call with the reason for which it has no record.
func withoutRecord(reason error) error {
	return connect.NewError(connect.CodeUnavailable, fmt.Errorf("%w: %w", errUnwritten, reason))
}

// Refused records a request that the gate refused. Where etcd is away nobody was refused by a right.
func (c *Component) Refused(asked rpc.Asked, reason string, err error) {
	if connect.CodeOf(err) == connect.CodeUnavailable {
		return
	}
	r := c.recordOf(asked, asked.Request)
	r.Kind, r.Result, r.Refusal = auditv1.Kind_KIND_REFUSED, resultOf(err), reason
	c.count(r)
}

// Begin records a call before it is made. A login is recorded after it, since only then it is known whose it is.
func (c *Component) Begin(ctx context.Context, asked rpc.Asked, request proto.Message) (func(context.Context, proto.Message, error) error, error) {
	r := c.recordOf(asked, request)
	r.Call = strings.ToLower(rand.Text()[:16])
	if asked.Call.Needs == rights.Nobody {
		return func(ctx context.Context, response proto.Message, err error) error {
			return c.login(ctx, r, response, err)
		}, nil
	}
	begun := proto.Clone(r).(*auditv1.Record)
	begun.Kind = auditv1.Kind_KIND_BEGUN
	if err := c.writer.put(ctx, begun); err != nil {
		c.metrics.unmade.Inc()
		if !errors.Is(err, errFull) { // it may be written yet
			c.writer.later(ended(r, nil, withoutRecord(err), c.now()))
		}
		return nil, withoutRecord(err)
	}
	return func(_ context.Context, response proto.Message, err error) error {
		c.writer.later(ended(r, response, err, c.now()))
		return err
	}, nil
}

// login records one that succeeded before its answer, which has the session: a session without a record is nobody's.
func (c *Component) login(ctx context.Context, r *auditv1.Record, response proto.Message, err error) error {
	done := ended(r, response, err, c.now())
	if done.GetObject() == "" {
		done.Object = clipped(rpc.NameIn(err))
	}
	if o := done.GetObject(); o != "" {
		done.Object = rights.LoggedName(o)
	}
	if err != nil {
		c.count(done)
		return err
	}
	done.User = nameIn(response)
	if failed := c.writer.put(context.WithoutCancel(ctx), proto.Clone(done).(*auditv1.Record)); failed != nil {
		c.metrics.unmade.Inc()
		if !errors.Is(failed, errFull) {
			c.writer.later(ended(done, nil, withoutRecord(failed), c.now()))
		}
		return withoutRecord(failed)
	}
	return nil
}

// count writes the first of those that are alike at once, and the others as one record later.
func (c *Component) count(r *auditv1.Record) {
	if c.alike.first(r) && !c.writer.later(r) {
		c.metrics.unlisted.Inc()
	}
}

// flush writes how many came that were like one that is written; the last one writes the sum of the day, too.
func (c *Component) flush(last bool) {
	day := dayOf(c.now())
	if last {
		day = ""
	}
	for _, r := range c.alike.take(day) {
		r.At = c.now()
		if !c.writer.later(r) {
			c.metrics.unlisted.Add(float64(r.GetTimes()))
		}
	}
}

// recordOf says who asks for what.
func (c *Component) recordOf(asked rpc.Asked, request proto.Message) *auditv1.Record {
	r := &auditv1.Record{
		At: c.now(), User: asked.Who.Name, Credential: asked.Who.Credential, From: asked.From,
		Procedure: procedureOf(asked.Call), Object: objectOf(request), Reason: reasonOf(request),
		Scope: clipped(asked.Who.Limits.String()),
	}
	switch {
	case asked.Who.Role == rights.Service:
		r.CredentialKind, r.OnBehalf = "service", signerOf(request)
	case asked.Who.Session:
		r.CredentialKind = "session"
	case asked.Who.Credential != "":
		r.CredentialKind = "token"
	}
	return r
}

// noCall stands for a procedure that this program does not have: its name is the client's text.
const noCall = "(not a call)"

func procedureOf(call rights.Call) string {
	if call.API == "" && call.Needs < rights.Nobody {
		return noCall
	}
	return clipped(call.Procedure)
}

// ended is the record of what came of a call.
func ended(r *auditv1.Record, response proto.Message, err error, at string) *auditv1.Record {
	out := proto.Clone(r).(*auditv1.Record)
	out.Kind, out.At, out.Result = auditv1.Kind_KIND_ENDED, at, resultOf(err)
	var no *rights.Refusal
	switch {
	case errors.Is(err, errUnwritten):
		out.Refusal = unwritten
	case errors.As(err, &no):
		out.Refusal = string(no.Reason)
	}
	if made := idIn(response); made != "" && made != out.GetObject() {
		out.Object = strings.TrimSpace(out.GetObject() + " " + made)
	}
	return out
}

func resultOf(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

// layout has all nine digits, so that a time is one text.
const layout = "2006-01-02T15:04:05.000000000Z"

func (c *Component) now() string { return c.deps.Now().UTC().Format(layout) }
