package gnmi

import "sync"

// Signal wakes any number of waiters.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// NewSignal is a signal nobody has sent.
func NewSignal() *Signal { return &Signal{ch: make(chan struct{})} }

// Wait returns a channel that is closed at the next Send.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch
}

// Send wakes all waiters.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
	s.ch = make(chan struct{})
}
