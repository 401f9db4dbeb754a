package lifecycle

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// journal notes who was started and stopped, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

type part struct {
	*journal
	name            string
	startErr        error
	stopErr         error
	hang            bool          // Stop waits for its context
	stubborn        chan struct{} // and does not look at it, but waits for this
	stopContextGone bool
	onStart         func()
}

func (p *part) Start(context.Context) error {
	p.note("start " + p.name)
	if p.onStart != nil {
		p.onStart()
	}
	return p.startErr
}

func (p *part) Stop(ctx context.Context) error {
	p.note("stop " + p.name)
	p.stopContextGone = ctx.Err() != nil
	if p.stubborn != nil {
		<-p.stubborn
	}
	if p.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return p.stopErr
}

func group(parts ...*part) (*Group, *journal) {
	j := &journal{}
	named := make([]Named, 0, len(parts))
	for _, p := range parts {
		p.journal = j
		named = append(named, Named{p.name, p})
	}
	return NewGroup(named...), j
}

func want(t *testing.T, j *journal, lines ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if d := cmp.Diff(j.lines, lines); d != "" {
		t.Errorf("what happened (-got +want):\n%s", d)
	}
}

func TestStartsInOrderAndStopsInReverse(t *testing.T) {
	g, j := group(&part{name: "bus"}, &part{name: "store"}, &part{name: "push"})
	for range 2 { // a group can be started again
		j.lines = nil
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, j, "start bus", "start store", "start push", "stop push", "stop store", "stop bus")
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Errorf("stop of what is stopped: %v", err)
	}
	want(t, j, "start bus", "start store", "start push", "stop push", "stop store", "stop bus")
}

func TestAFailedStartUnwinds(t *testing.T) {
	broken, stuck := errors.New("port in use"), errors.New("still flushing")
	g, j := group(&part{name: "bus", stopErr: stuck}, &part{name: "store"}, &part{name: "push", startErr: broken}, &part{name: "web"})
	err := g.Start(t.Context())
	if !errors.Is(err, broken) || !errors.Is(err, stuck) {
		t.Errorf("got %v, want both errors", err)
	}
	if got, want := err.Error(), "start push: port in use\nstop bus: still flushing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want(t, j, "start bus", "start store", "start push", "stop store", "stop bus")
}

func TestAnInterruptBetweenTwoStartsUnwinds(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	first := &part{name: "bus", onStart: interrupt}
	g, j := group(first, &part{name: "store"})
	if err := g.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	want(t, j, "start bus", "stop bus")
	if first.stopContextGone {
		t.Error("Stop got a context that had ended, so it could not stop in good order")
	}
}

// The time is that of a bubble: it goes on when nothing else does, so that only who hangs takes too long.
func TestAStopThatHangsOrFailsDoesNotHoldUpTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, over := errors.New("flush failed"), make(chan struct{})
		defer close(over)
		g, j := group(&part{name: "bus"}, &part{name: "hangs", hang: true}, &part{name: "fails", stopErr: failed}, &part{name: "stubborn", stubborn: over})
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := g.Stop(t.Context())
		if !errors.Is(err, failed) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the failure and the deadline", err)
		}
		want(t, j, "start bus", "start hangs", "start fails", "start stubborn",
			"stop stubborn", "stop fails", "stop hangs", "stop bus")
	})
}
