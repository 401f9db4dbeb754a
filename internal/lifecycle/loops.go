package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Loops are a component's goroutines, from its Start to its Stop. The zero value is not started.
type Loops struct {
	mu      sync.Mutex // of running and stop: an API may be called while its component starts
	running context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// ErrNotStarted is why the context of Loops without a Start has ended.
var ErrNotStarted = errors.New("the component has not been started")

// notStarted is the context before Start: what is requested too early ends at once, with that error as its
// cause.
var notStarted = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrNotStarted)
	return ctx
}()

// Start takes the values of a context, which bounds the start and not the loops.
func (l *Loops) Start(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.stop = context.WithCancel(context.WithoutCancel(ctx))
}

// Context lives from Start to Stop, for what runs elsewhere, such as a bus subscription.
func (l *Loops) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		return notStarted
	}
	return l.running
}

// Go runs do until Stop.
func (l *Loops) Go(do func(context.Context)) {
	ctx := l.Context()
	l.wg.Go(func() { do(ctx) })
}

// Every calls do at once and then again and again until Stop.
func (l *Loops) Every(interval time.Duration, do func(context.Context)) {
	l.Go(func(ctx context.Context) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			do(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Cancel ends the loops' context and does not wait: a component whose loops end by something else as well, such as a
// server that is shut down, does that between Cancel and Stop.
func (l *Loops) Cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
	}
}

// Stop returns once no loop runs, or when ctx ends. Without a Start there is nothing to do.
func (l *Loops) Stop(ctx context.Context) error {
	l.Cancel()
	done := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
