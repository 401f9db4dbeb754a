package gnmi

import (
	"context"
	"sync"
	"weak"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/state"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// readings are shared: while the router is read for some clients, all that ask meanwhile wait for one reading after it.
// So a reading always begins after it was requested, and however many clients there are, of each choice of parts
// one reading is under way and one waits. A reading shares with the one before whatever did not change.
type readings struct {
	deps Dependencies

	mu    sync.Mutex
	next  map[state.Parts]*reading
	busy  map[state.Parts]bool
	state map[state.Parts]weak.Pointer[tree.Node]
	both  map[state.Parts]weak.Pointer[tree.Node]
}

// reading is what a router did at one time. Nothing in it changes once done is closed.
type reading struct {
	ctx     context.Context
	cancel  context.CancelFunc
	waiting int // clients; without any, the reading is given up
	done    chan struct{}

	state *tree.Node
	both  *tree.Node // the configuration too
	err   error
}

func newReadings(deps Dependencies) *readings {
	return &readings{deps: deps, next: map[state.Parts]*reading{}, busy: map[state.Parts]bool{},
		state: map[state.Parts]weak.Pointer[tree.Node]{}, both: map[state.Parts]weak.Pointer[tree.Node]{}}
}

// get waits for a reading that begins after this call.
func (s *readings) get(ctx context.Context, parts state.Parts) (*reading, error) {
	if err := s.deps.Room(); err != nil {
		return nil, err
	}
	r := s.join(parts)
	select {
	case <-r.done:
		return r, r.err
	case <-ctx.Done():
		s.leave(r)
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (s *readings) join(parts state.Parts) *reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.next[parts]
	if r == nil || r.ctx.Err() != nil {
		r = &reading{done: make(chan struct{})}
		r.ctx, r.cancel = context.WithCancel(context.Background())
		s.next[parts] = r
	}
	r.waiting++
	if !s.busy[parts] {
		s.busy[parts] = true
		go s.work(parts)
	}
	return r
}

func (s *readings) leave(r *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
	}
}

// work reads as long as somebody waits.
func (s *readings) work(parts state.Parts) {
	for {
		s.mu.Lock()
		r := s.next[parts]
		delete(s.next, parts)
		if r == nil {
			delete(s.busy, parts)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		s.fill(r, parts)
		r.cancel()
		close(r.done)
	}
}

func (s *readings) fill(r *reading, parts state.Parts) {
	now, err := s.deps.State.Read(r.ctx, parts)
	if err != nil {
		r.err = status.Errorf(codes.Internal, "read state: %v", err)
		return
	}
	running, _ := s.deps.Store.Running()
	r.state = s.share(s.state, parts, now)
	r.both = s.share(s.both, parts, running.Overlay(now))
}

// share keeps once what is the same as in the last reading, if somebody still has that.
func (s *readings) share(last map[state.Parts]weak.Pointer[tree.Node], parts state.Parts, now *tree.Node) *tree.Node {
	s.mu.Lock()
	before := last[parts].Value()
	last[parts] = weak.Make(now)
	s.mu.Unlock()
	if before != nil {
		now.Settle(before)
	}
	return now
}
