package flowstore

import (
	"context"
	"sync"
	"time"
)

// busy counts handlers at work, so that Stop can let the bus run empty first.
type busy struct {
	mu      sync.Mutex
	running int
	last    time.Time
}

func (b *busy) enter() (leave func()) {
	b.add(1)
	return func() { b.add(-1) }
}

func (b *busy) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running += n
	b.last = time.Now()
}

func (b *busy) idleFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running > 0 {
		return 0
	}
	return time.Since(b.last)
}

// quiet is how long nothing must have come before the bus counts as empty.
const quiet = 100 * time.Millisecond

// drain waits until no handler has run for a while, or ctx ends.
func (b *busy) drain(ctx context.Context) {
	for b.idleFor() < quiet {
		select {
		case <-time.After(quiet / 4):
		case <-ctx.Done():
			return
		}
	}
}
