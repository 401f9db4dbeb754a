package lifecycle

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestLoops(t *testing.T) {
	var l Loops
	early := make(chan error, 1)
	l.Go(func(ctx context.Context) { <-ctx.Done(); early <- context.Cause(ctx) })
	if err := <-early; !errors.Is(err, ErrNotStarted) {
		t.Errorf("a loop before the start: %v, want %v", err, ErrNotStarted)
	}
	if err := l.Stop(t.Context()); err != nil {
		t.Errorf("stopped before it was started: %v", err)
	}
	starting, started := context.WithCancel(t.Context())
	l.Start(starting)
	calls := make(chan struct{})
	l.Every(time.Millisecond, func(ctx context.Context) {
		select {
		case calls <- struct{}{}:
		case <-ctx.Done():
		}
	})
	started() // the start is over, the loops are not
	<-calls
	<-calls
	ended := make(chan struct{})
	l.Go(func(ctx context.Context) { <-ctx.Done(); close(ended) })
	l.Cancel()
	<-ended
	held := make(chan struct{})
	l.Go(func(context.Context) { <-held })
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Stop(late); !errors.Is(err, context.Canceled) {
		t.Errorf("a loop that does not end: %v, want %v", err, context.Canceled)
	}
	close(held)
	if err := l.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAPauseIsOverInTimeOrWithItsContext(t *testing.T) {
	begun := time.Now()
	if Pause(t.Context(), 10*time.Millisecond); time.Since(begun) < 10*time.Millisecond {
		t.Errorf("it lasted %s", time.Since(begun))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Pause(ctx, time.Hour)
}
