package alpha

import (
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// asked lists the requests of runs to services/push whose outcome is unknown, oldest first.
func asked(g *alphav1.Generation) []*alphav1.Asked {
	all := slices.Clone(g.GetEarlier())
	if g.GetPending() != nil {
		all = append(all, &alphav1.Asked{Request: g.GetPending(), ChangeId: g.GetChangeId()})
	}
	return all
}

// withAsked is the generation with that list. What a newer process has added to it stays.
func withAsked(g *alphav1.Generation, all []*alphav1.Asked) *alphav1.Generation {
	out := proto.CloneOf(g)
	out.Earlier, out.Pending, out.ChangeId = nil, nil, ""
	if n := len(all); n > 0 {
		out.Earlier, out.Pending, out.ChangeId = all[:n-1], all[n-1].GetRequest(), all[n-1].GetChangeId()
	}
	return out
}

func sameAsked(a, b []*alphav1.Asked) bool {
	return slices.EqualFunc(a, b, func(x, y *alphav1.Asked) bool { return proto.Equal(x, y) })
}

// fate is the outcome of a request for a change set.
type fate string

const (
	// unknown: services/push did not answer, so the request stays as it is, under its key: another key
	// would make a second change set.
	unknown fate = "unknown"
	// open: the change set has not ended. It is not requested again while it may still be applied.
	open fate = "open"
	// absent: the request never arrived.
	absent fate = "absent"
	failed fate = "failed"
	// whole: every router holds the policy's whole plan, with all pairs that were in force when it was
	// made, so it satisfies all earlier requests as well.
	whole fate = "whole"
	// over: a person or a guard ended it.
	over fate = "over"
)

// fateOf is of a change set's state.
func fateOf(s pushv1.State) fate {
	switch s {
	case pushv1.State_STATE_FAILED:
		return failed
	case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_EMPTY:
		return whole
	case pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_ABORTED:
		return over
	}
	return open
}

// settle decides which requests of earlier runs are kept, and which are repeated. end returns a request's
// outcome and is called for the newest first. One that failed gets a new key, made with this text: under
// the old key services/push would return the change set that failed.
func settle(all []*alphav1.Asked, text string, end func(*alphav1.Asked) fate) (kept []*alphav1.Asked, again *pushv1.CreateRequest) {
	for _, a := range slices.Backward(all) {
		switch end(a) {
		case unknown, open:
			kept = slices.Insert(kept, 0, a)
		case absent:
			again = merge(proto.CloneOf(a.GetRequest()), again)
		case failed:
			r := proto.CloneOf(a.GetRequest())
			r.IdempotencyKey = idempotencyKey(r.GetPairs(), r.GetIdempotencyKey(), text)
			again = merge(r, again)
		case whole:
			return kept, again
		}
	}
	return kept, again
}

// maxAskedPairs bounds what is kept of change sets that wait for a person: it is one value in etcd.
const maxAskedPairs = 20_000

// bounded keeps the newest, and returns those that are followed no longer.
func bounded(all []*alphav1.Asked) (kept, left []*alphav1.Asked) {
	pairs := 0
	for i, a := range slices.Backward(all) {
		pairs += len(a.GetRequest().GetPairs()) + 10
		if pairs > maxAskedPairs && i < len(all)-1 {
			return all[i+1:], all[:i+1]
		}
	}
	return all, nil
}

// named is a request that names no more pairs than fit: they are the evidence for a person, while the change set is
// planned from all pairs in force.
func named(r *pushv1.CreateRequest) *pushv1.CreateRequest {
	if more := len(r.GetPairs()) - maxAskedPairs; more > 0 {
		r.Pairs = r.Pairs[:maxAskedPairs]
		r.Reason += fmt.Sprintf(" %d more pairs changed, which are not named here.", more)
	}
	return r
}

// became reads a request's outcome from services/push. One without an answer may have arrived all the same, so it is
// looked for by its key.
func (c *Component) became(ctx context.Context, a *alphav1.Asked) fate {
	req := &pushv1.GetRequest{Id: a.GetChangeId()}
	if req.Id == "" {
		req.IdempotencyKey = a.GetRequest().GetIdempotencyKey()
	}
	got, err := c.deps.Changes.Get(ctx, connect.NewRequest(req))
	switch {
	case err == nil:
		return fateOf(got.Msg.GetChange().GetState())
	case connect.CodeOf(err) != connect.CodeNotFound:
		c.deps.Log.WarnContext(ctx, "the state of a change set is unknown, so its request is kept", "change", a.GetChangeId(), "error", err)
		return unknown
	case a.GetChangeId() != "":
		return over // it was swept after its time
	}
	return absent
}

// toAsk is what to request from services/push after this run: earlier requests that have not ended, then one
// request for what is new together with what came to nothing.
func (c *Component) toAsk(ctx context.Context, o order, before []*alphav1.Asked, fresh *pushv1.CreateRequest) []*alphav1.Asked {
	kept, again := settle(before, stamp(o.to), func(a *alphav1.Asked) fate { return c.became(ctx, a) })
	if request := merge(again, fresh); request != nil {
		kept = append(kept, &alphav1.Asked{Request: named(request)})
	}
	kept, left := bounded(kept)
	for _, a := range left {
		c.deps.Log.ErrorContext(ctx, "a change set that waits for a person is followed no longer: if it fails, it is not requested again",
			"change", a.GetChangeId(), "title", a.GetRequest().GetTitle(), "pairs", len(a.GetRequest().GetPairs()))
	}
	return kept
}
