package lifecycle

import (
	"context"
	"sync"
	"time"
)

// Loops are a component's goroutines, from its Start to its Stop. The zero value is not started.
type Loops struct {
	running context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// Start takes the values of a context, which bounds the start and not the loops.
func (l *Loops) Start(ctx context.Context) {
	l.running, l.stop = context.WithCancel(context.WithoutCancel(ctx))
}

// Context lives from Start to Stop, for what runs elsewhere, such as a bus subscription.
func (l *Loops) Context() context.Context { return l.running }

// Go runs do until Stop.
func (l *Loops) Go(do func(context.Context)) { l.wg.Go(func() { do(l.running) }) }

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

// Stop returns once no loop runs, or when ctx ends. Without a Start there is nothing to do.
func (l *Loops) Stop(ctx context.Context) error {
	if l.stop == nil {
		return nil
	}
	l.stop()
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
