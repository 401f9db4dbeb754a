package rpc

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
)

// Gate lets requests through to what their callers may call, before anything of their bodies is read. Every port has
// one, and every route of it is behind it.
type Gate struct {
	// Who says who sent a request: rights.Anonymous where it has no credentials, and an error of Connect where it
	// has some that are no good, or that cannot be checked. Nil: there are no logins, and everybody may call
	// everything.
	Who func(*http.Request) (rights.Caller, error)
	// Closed refuses calls of unknown callers also where people may make them without a login: it is for ports that
	// people do not come to.
	Closed bool
	// Refused counts, by the reason of the refusal; nil: nothing does.
	Refused func(reason string)
	// Record writes down what is refused, and what changes something; nil: nobody does.
	Record Recorder
	// Again is how often callers of open streams are looked up again; 0: every 30 s.
	Again time.Duration
}

// BadCredentials is the reason where Who fails.
const BadCredentials = "credentials"

// Page guards what is no call.
func (g Gate) Page(needs rights.Role, next http.Handler) http.Handler {
	return g.Wrap(func(r *http.Request) rights.Call { return rights.Page(r.URL.Path, needs) }, next)
}

// Wrap guards a handler. call names what a request asks of it; nil is for Connect services, where the path does.
func (g Gate) Wrap(call func(*http.Request) rights.Call, next http.Handler) http.Handler {
	if call == nil {
		call = func(r *http.Request) rights.Call { return rights.Of(r.URL.Path) }
	}
	if g.Who == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			trusted(r, call(r))
			next.ServeHTTP(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := g.Who(r)
		asked := Asked{Who: who, Call: call(r), From: hostOf(r.RemoteAddr)} // Who may have found whom a gateway forwards for
		if err != nil {
			asked.Who = rights.Anonymous
		}
		if err != nil && (asked.Call.Needs != rights.Nobody || mustKnow(err, asked.Call) || g.Closed && asked.Call.API != "") {
			g.refuse(w, r, asked, BadCredentials, err)
			return
		}
		if no := rights.Decide(asked.Who, asked.Call); no != nil {
			g.refuse(w, r, asked, string(no.Reason), connect.NewError(codeOf(no), no))
			return
		}
		if asked.Who.Role > rights.Nobody {
			trusted(r, asked.Call)
		}
		ctx := recorded(rights.With(r.Context(), asked.Who), g.Record, asked)
		ctx = context.WithValue(ctx, refuserKey{}, func(reason string, request proto.Message, err error) {
			asked := asked
			asked.Request = request
			g.count(asked, reason, err)
		})
		if asked.Call.Streams && asked.Who.Credential != "" {
			var stop func()
			ctx, stop = g.whileIn(ctx, r, asked)
			defer stop()
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// again is the default of Gate.Again.
const again = 30 * time.Second

// whileIn is the context of a stream, which ends with its caller's login, with the role that the call needs, and with
// other limits than at its beginning. A caller that cannot be looked up stays: that says nothing about the login.
func (g Gate) whileIn(ctx context.Context, r *http.Request, asked Asked) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	shown := r.Clone(ctx) // the handler may change its own
	var looking sync.WaitGroup
	looking.Go(func() {
		ticks := time.NewTicker(cmp.Or(g.Again, again))
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if no := over(asked, g.Who, shown); no != nil {
				end(no)
			}
		}
	})
	return ctx, func() { end(nil); looking.Wait() }
}

var errLimits = connect.NewError(connect.CodeAborted, errors.New("what this login is limited to is something else than at the beginning; begin anew"))

// over is why a stream ends now; nil: it goes on.
func over(asked Asked, look func(*http.Request) (rights.Caller, error), shown *http.Request) error {
	who, err := look(shown)
	switch {
	case connect.CodeOf(err) == connect.CodeUnauthenticated:
		return err
	case err != nil:
		return nil
	}
	if no := rights.Decide(who, asked.Call); no != nil {
		return connect.NewError(codeOf(no), no)
	}
	if !proto.Equal(rights.LimitsMessage(who.Limits), rights.LimitsMessage(asked.Who.Limits)) {
		return errLimits
	}
	return nil
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// mustKnow reports whether a call that is open to all fails with the look-up of its caller: one that only reads must
// not answer a person who is logged in as if there were no login. To log in is possible all the same, and pages are
// served.
func mustKnow(err error, asked rights.Call) bool {
	return asked.API != "" && !asked.Changes && connect.CodeOf(err) != connect.CodeUnauthenticated
}

func codeOf(no *rights.Refusal) connect.Code {
	if no.Reason == rights.NoLogin {
		return connect.CodeUnauthenticated
	}
	return connect.CodePermissionDenied
}

// statuses of what a gate answers where HTTP has no other place for it, and their codes in problem details.
var statuses = map[connect.Code]struct {
	status int
	code   string
}{
	connect.CodeUnauthenticated:   {http.StatusUnauthorized, "UNAUTHENTICATED"},
	connect.CodePermissionDenied:  {http.StatusForbidden, "PERMISSION_DENIED"},
	connect.CodeResourceExhausted: {http.StatusTooManyRequests, "RATE_LIMITED"},
	connect.CodeUnavailable:       {http.StatusServiceUnavailable, "UNAVAILABLE"},
}

// count counts a refusal, and has it written down.
func (g Gate) count(asked Asked, reason string, err error) {
	if g.Refused != nil {
		g.Refused(reason)
	}
	if g.Record != nil {
		g.Record.Refused(asked, reason, err)
	}
}

func (g Gate) refuse(w http.ResponseWriter, r *http.Request, asked Asked, reason string, err error) {
	g.count(asked, reason, err)
	if c := connect.CodeOf(err); c == connect.CodeUnauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if writer := connect.NewErrorWriter(); !strings.HasPrefix(r.URL.Path, rest) && writer.IsSupported(r) {
		_ = writer.Write(w, r, err) // the client may have disconnected
		return
	}
	as, known := statuses[connect.CodeOf(err)]
	if !known {
		as.status, as.code = http.StatusInternalServerError, "INTERNAL"
	}
	refuse(w, r, as.status, as.code, messageOf(err))
}

// messageOf is the text of an error without its code, which is said beside it.
func messageOf(err error) string {
	var c *connect.Error
	if errors.As(err, &c) {
		return c.Message()
	}
	return err.Error()
}
