package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/millrace/millrace/internal/rights"
	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

// failover sends requests for the first of several addresses to the first of them that has not failed. What failed at
// one is sent to the next, if no server can have done it, or if doing it twice is the same. An address that failed is
// left alone, then asked whether it answers, beside the calls: none waits for that.
type failover struct {
	service   string
	addresses []string
	next      http.RoundTripper
	log       *slog.Logger
	// failedOver counts calls that went on from an address to another one.
	failedOver func(address string)
	// asking is how long an address may take to say that it answers.
	asking time.Duration

	mu    sync.Mutex
	known []known
}

// RoundTrip implements http.RoundTripper.
func (f *failover) RoundTrip(r *http.Request) (*http.Response, error) {
	harmless, single := harmless(r), single(r)
	body := payloadOf(r, harmless || single)
	defer body.end()
	var failed error
	all := f.order()
	for n, i := range all {
		answer, reached, err := f.send(r, body, i, single)
		if err == nil {
			return answer, nil
		}
		if err = fmt.Errorf("%s at %s: %w", f.service, f.addresses[i], err); failed == nil {
			failed = err
		} else {
			failed = fmt.Errorf("%w; %w", failed, err)
		}
		if n == len(all)-1 || r.Context().Err() != nil || !sends(reached, harmless, body.whole()) {
			break
		}
		f.failedOver(f.addresses[i])
	}
	return nil, failed
}

// send sends a request to one address. reached tells that a server may have done it: of a single message it does
// nothing before it has it whole. The transport says that all was written before it returns.
func (f *failover) send(r *http.Request, body *payload, to int, single bool) (answer *http.Response, reached bool, err error) {
	out, err := Moved(r, f.addresses[0], f.addresses[to])
	if err != nil {
		return nil, false, err
	}
	if out.Body, err = body.next(); err != nil {
		return nil, false, err
	}
	var connected, written atomic.Bool
	trace := &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { connected.Store(true) },
		WroteRequest: func(w httptrace.WroteRequestInfo) { written.Store(written.Load() || w.Err == nil) },
	}
	answer, err = f.next.RoundTrip(out.WithContext(httptrace.WithClientTrace(out.Context(), trace)))
	if err == nil {
		f.answered(to)
		answer.Body = &watchedBody{answer.Body, func() { f.doubt(r.Context(), to) }}
		return answer, true, nil
	}
	switch {
	case body.broke(): // the sender failed, not the address
	case r.Context().Err() != nil, wasReset(err): // the caller may have left because nothing came; one call may be at fault
		f.ask(to, known.doubted)
	default:
		f.failed(to, err)
	}
	has := &connected
	if single {
		has = &written
	}
	return nil, has.Load() && !dialled(err), err
}

// harmless reports whether doing a request twice is the same as once: calls declare whether they change something.
func harmless(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	call := rights.Of(r.URL.Path)
	return call.Needs != rightsv1.Role_ROLE_UNSPECIFIED && !call.Changes
}

// single reports whether a request is one message: of a stream a server may do the first part. What is no call may be
// a stream.
func single(r *http.Request) bool {
	call := rights.Of(r.URL.Path)
	return call.Needs != rightsv1.Role_ROLE_UNSPECIFIED && !call.Streams
}

// dialled reports whether an error is that no connection was made. The transport may have had another one before, on
// which it sent nothing.
func dialled(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// wasReset reports whether an error is that the server ended this call alone, and without an answer.
func wasReset(err error) bool {
	var stream http2.StreamError
	return errors.As(err, &stream)
}

// order is where to send a call. Addresses of which it is time are asked whether they answer.
func (f *failover) order() []int {
	f.mu.Lock()
	all := order(f.known)
	f.mu.Unlock()
	for i := range f.addresses {
		f.ask(i, known.due)
	}
	return all
}

func (f *failover) answered(at int) {
	f.mu.Lock()
	was := f.known[at]
	f.known[at] = was.answered()
	f.mu.Unlock()
	if was.failures > 0 {
		f.log.Info("service answers at an address again", "service", f.service, "address", f.addresses[at])
	}
}

func (f *failover) failed(at int, err error) {
	f.mu.Lock()
	was := f.known[at]
	f.known[at] = was.failed(time.Now())
	f.mu.Unlock()
	if was.failures == 0 {
		f.log.Warn("service does not answer at an address; calls go to the others", "service", f.service, "address", f.addresses[at], "error", err)
	}
}

// doubt is for an answer that broke off, unless its caller has left.
func (f *failover) doubt(caller context.Context, at int) {
	if caller.Err() == nil {
		f.ask(at, known.doubted)
	}
}

// ask asks an address whether it answers, if it is to be asked, and does not wait for it.
func (f *failover) ask(at int, when func(known, time.Time) bool) {
	f.mu.Lock()
	asks := when(f.known[at], time.Now())
	if asks {
		f.known[at].asked = true
	}
	f.mu.Unlock()
	if !asks {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), f.asking)
		defer cancel()
		err := Runs(ctx, f.next, f.addresses[at])
		if err == nil {
			f.answered(at)
		} else {
			f.failed(at, err)
		}
		f.mu.Lock()
		f.known[at].asked = false
		f.mu.Unlock()
	}()
}

// CloseIdleConnections is what http.Client asks of a transport.
func (f *failover) CloseIdleConnections() {
	if c, ok := f.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
