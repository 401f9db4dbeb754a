package pushtest

import "testing"

// Moment is a point of a router's part in a change set at which a test can hold it.
type Moment string

// The moments, in the order in which a change set passes them.
const (
	BeforeCommit  Moment = "before a router commits"
	AfterCommit   Moment = "a router has committed and not answered"
	Verifying     Moment = "a router is read after its commit"
	BeforeConfirm Moment = "before a router confirms"
	AfterConfirm  Moment = "a router has confirmed and not answered"
	BeforeCancel  Moment = "before a router cancels its commit"
)

// Hold is a router that waits at a moment.
type Hold struct {
	reached  chan struct{}
	released chan struct{}
}

// Reached is closed when the router is at the moment.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Release lets it go on, whether its caller still waits or not.
func (h *Hold) Release() {
	select {
	case <-h.released:
	default:
		close(h.released)
	}
}

// HoldAt makes the router wait at the next such moment, once, until it is released or the test ends.
func (r *Router) HoldAt(t testing.TB, m Moment) *Hold {
	h := &Hold{make(chan struct{}), make(chan struct{})}
	r.mu.Lock()
	r.holds[m] = h
	r.mu.Unlock()
	t.Cleanup(h.Release)
	return h
}

// at waits where the test holds the router.
func (r *Router) at(m Moment) {
	r.mu.Lock()
	h := r.holds[m]
	delete(r.holds, m)
	r.mu.Unlock()
	if h != nil {
		close(h.reached)
		<-h.released
	}
}
