package bus

import (
	"context"
	"errors"
	"sync"
)

// Keepers are the groups that keep what a topic carries: a message that its keeper has handled outlives every process.
// Other groups only look at it. A topic without an entry carries nothing that anybody keeps.
var Keepers = map[string]string{TopicFlows: "flowstore", TopicTelemetry: "flowstore", TopicVPN: "flowstore"}

// ErrNotKept settles a receipt for a message that nobody keeps: its publisher is to send it again.
var ErrNotKept = errors.New("nothing has kept the message")

// Receipt tells when the messages published with it are kept. The zero value is one of no messages.
type Receipt struct {
	mu      sync.Mutex
	waiting int
	err     error
	settled chan struct{} // closed when no message waits any longer; nil unless somebody asks
}

func (r *Receipt) add() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting++
}

// settle ends the wait for one message; err is nil if it is kept.
func (r *Receipt) settle(err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	if r.err == nil {
		r.err = err
	}
	if r.waiting == 0 && r.settled != nil {
		close(r.settled)
		r.settled = nil
	}
}

// Wait returns nil once all messages published so far are kept, and an error once one of them will not be.
func (r *Receipt) Wait(ctx context.Context) error {
	r.mu.Lock()
	if r.waiting > 0 && r.settled == nil {
		r.settled = make(chan struct{})
	}
	settled, err := r.settled, r.err
	r.mu.Unlock()
	if settled == nil {
		return err
	}
	select {
	case <-settled:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
