package routeragent

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/access"
)

// streams are those that are open: they end when their client may not have them any more.
type streams struct {
	mu   sync.Mutex
	open map[*stream]bool
}

// stream is one that the agent can end. gRPC itself answers CANCELLED to a stream whose context has ended while it
// waits for a message, so the context of the call is left alone, and the waiting ends here.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	end    context.CancelCauseFunc
	client client
	call   string
	need   access.Need
}

// endedError is why the agent ended a stream.
type endedError struct{ status error }

func (e *endedError) Error() string { return e.status.Error() }

// Context implements grpc.ServerStream.
func (s *stream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. Of a stream that has ended nobody reads the message.
func (s *stream) RecvMsg(m any) error {
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(m) }()
	select {
	case err := <-received:
		return err
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// untilEnded serves a stream, whose answer is that of the agent where the agent has ended it.
func (a *Agent) untilEnded(inner grpc.ServerStream, method string, serve func(grpc.ServerStream) error) error {
	s := &stream{ServerStream: inner, call: path.Base(method), need: needs[method]}
	s.client, _ = inner.Context().Value(clientKey{}).(client)
	s.ctx, s.end = context.WithCancelCause(inner.Context())
	defer s.end(nil)
	a.streams.enter(s)
	defer a.streams.leave(s)
	err := serve(s)
	if ended := (*endedError)(nil); errors.As(context.Cause(s.ctx), &ended) {
		return ended.status
	}
	return err
}

func (s *streams) enter(x *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*stream]bool{}
	}
	s.open[x] = true
}

func (s *streams) leave(x *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

func (s *streams) all() (out []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.open {
		out = append(out, x)
	}
	return out
}

const (
	// reviewEvery is how often roles and users are looked at for streams that are open. Certificates: internal/mtls.
	reviewEvery = time.Second
	// unread is for how long a client that reads nothing keeps a stream that has ended.
	unread = time.Second
)

func (a *Agent) reviewStreams(ctx context.Context) {
	tick := time.NewTicker(reviewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.review()
		}
	}
}

// review ends what could not begin now.
func (a *Agent) review() {
	a.roles.Get() // so that files that cannot be used are reported though nobody calls
	a.users.users.Get()
	for _, s := range a.streams.all() {
		if s.ctx.Err() != nil {
			continue
		}
		now := s.client
		now.role = s.client.now()
		verdict := access.Decide(true, now.role, s.need)
		if verdict == access.Granted {
			continue
		}
		err := denial(now, verdict, nil)
		a.metrics.ended.WithLabelValues(string(verdict)).Inc()
		a.auditEnd(now, s.call, err)
		s.end(&endedError{err})
		time.AfterFunc(unread, s.client.abandon)
	}
}
