package rpc

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
)

// About says what the record that a request names is about, such as the routers of a change set. It is for calls that
// declare so (subject: {record: true}).
type About func(ctx context.Context, procedure string, request proto.Message) (rights.Things, error)

// WholeHeader is set in an answer of which a caller with limits gets more than what is within them; its value is the
// limits.
const WholeHeader = "Millrace-Beyond-Scope"

// Made makes a call once its request is known: it names who asks, refuses what is out of the caller's limits, has it
// written down, and leaves of the answer what is within the limits.
func Made(ctx context.Context, procedure string, request proto.Message, about About, header http.Header, call func() (proto.Message, error)) error {
	if request != nil {
		rights.Sign(ctx, request)
	}
	who, _ := rights.From(ctx)
	if who.Limits.None() {
		return Recorded(ctx, request, call)
	}
	asked := rights.Of(procedure)
	if byMessage := request == nil && asked.Streams && asked.Subject != nil; !byMessage {
		if err := within(ctx, who, asked, request, about); err != nil {
			return err
		}
	}
	if rights.Whole(who, asked) {
		header.Set(WholeHeader, who.Limits.String())
	}
	return Recorded(ctx, request, func() (proto.Message, error) {
		answer, err := call()
		if err == nil {
			rights.Filter(who, asked, answer)
		}
		return answer, err
	})
}

// within refuses a call that changes something that its caller's limits leave out.
func within(ctx context.Context, who rights.Caller, call rights.Call, request proto.Message, about About) error {
	if !rights.Judged(call) {
		return nil
	}
	things, err := thingsOf(ctx, call, request, about)
	if err != nil {
		return err
	}
	if no := rights.Within(who, call, things); no != nil {
		return outOfScope(ctx, no, request)
	}
	return nil
}

var errNoRecord = connect.NewError(connect.CodeInternal, errors.New("the service does not say what the record of this call is about"))

// thingsOf is what a call, or a message of its stream, is about: everything where nothing says what.
func thingsOf(ctx context.Context, call rights.Call, request proto.Message, about About) (rights.Things, error) {
	if call.Subject == nil || request == nil {
		all := []string{""}
		return rights.Things{Routers: all, VPNs: all, Policies: all}, nil
	}
	things := rights.About(call, request)
	if !call.Subject.GetRecord() {
		return things, nil
	}
	if about == nil {
		return things, errNoRecord
	}
	record, err := about(ctx, call.Procedure, request)
	things.Routers = append(things.Routers, record.Routers...)
	things.VPNs = append(things.VPNs, record.VPNs...)
	things.Policies = append(things.Policies, record.Policies...)
	return things, err
}

type refuserKey struct{}

// outOfScope is the error of a call that was refused after the gate, counted and written down as the gate does.
func outOfScope(ctx context.Context, no *rights.Refusal, request proto.Message) error {
	err := connect.NewError(connect.CodePermissionDenied, no)
	if refused, ok := ctx.Value(refuserKey{}).(func(string, proto.Message, error)); ok {
		refused(string(no.Reason), request, err)
	}
	return err
}
