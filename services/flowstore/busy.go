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
	changes int // how often a handler has begun or ended
}

func (b *busy) enter() (leave func()) {
	b.add(1)
	return func() { b.add(-1) }
}

func (b *busy) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running += n
	b.changes++
}

func (b *busy) look() (idle bool, changes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running == 0, b.changes
}

// The bus counts as empty when so many looks in a row found no handler at work, and none between them. Time alone says
// nothing: on a host that gives this process no processor for that long, no handler could have begun.
const (
	looks = 4
	pause = 10 * time.Millisecond
)

// drain waits until no handler has run for a while, or ctx ends.
func (b *busy) drain(ctx context.Context) {
	_, last := b.look()
	for still := 0; still < looks; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		idle, changes := b.look()
		if still++; !idle || changes != last {
			still, last = 0, changes
		}
	}
}
