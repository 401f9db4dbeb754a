package rpc

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
)

// Recorder writes down who did what, before it is done.
type Recorder interface {
	// Refused is for a request that the gate did not let through, with the reason that metrics have.
	Refused(asked Asked, reason string, err error)
	// Begin is before a call that changes something. With its error the call is not made. end takes what came of the
	// call, and returns what is answered.
	Begin(ctx context.Context, asked Asked, request proto.Message) (end func(context.Context, proto.Message, error) error, err error)
}

// Asked is a call, and whose it is.
type Asked struct {
	Who  rights.Caller
	Call rights.Call
	// From is the address of the client; empty: this process.
	From string
	// Request is set for one that was refused once it was read.
	Request proto.Message
}

type recordingKey struct{}

type recording struct {
	Recorder
	asked Asked
}

// recorded is the context of a call that somebody has to write down: of one that changes something.
func recorded(ctx context.Context, by Recorder, asked Asked) context.Context {
	if by == nil || !asked.Call.Changes {
		return ctx
	}
	return context.WithValue(ctx, recordingKey{}, recording{by, asked})
}

// Recorded makes a call, which is written down before and after where its context says so, unless it is a dry run: that
// changes nothing, and forms that are open make one again and again.
func Recorded(ctx context.Context, request proto.Message, call func() (proto.Message, error)) error {
	r, ok := ctx.Value(recordingKey{}).(recording)
	if !ok || dry(request) {
		_, err := call()
		return err
	}
	end, err := r.Begin(ctx, r.asked, request)
	if err != nil {
		return err
	}
	response, err := call()
	return end(ctx, response, err)
}

// dry reports whether a request says that it is to change nothing.
func dry(request proto.Message) bool {
	m, ok := request.(interface{ GetDryRun() bool })
	return ok && m.GetDryRun()
}

// As tells a handler that every request is of the same caller, such as the process itself.
func As(who rights.Caller, by func() Recorder, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := rights.With(r.Context(), who)
		next.ServeHTTP(w, r.WithContext(recorded(ctx, by(), Asked{Who: who, Call: rights.Of(r.URL.Path)})))
	})
}
