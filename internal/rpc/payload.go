package rpc

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// keptMost is how much of a request's body is kept to be sent again, in octets, where its sender cannot give it again:
// of what a gateway forwards, and of a stream's request.
const keptMost = 1 << 20

// payload gives the body of a request for each time that it is sent.
type payload struct {
	r *http.Request
	// kept is nil where there is no body, or its sender gives it again.
	kept *keptBody
	sent bool
}

// payloadOf is that of a request; keep tells that what a server may have read of it is sent again, too.
func payloadOf(r *http.Request, keep bool) *payload {
	p := &payload{r: r}
	if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		p.kept = &keptBody{source: r.Body, keep: keep}
	}
	return p
}

// next is the body for the next time.
func (p *payload) next() (io.ReadCloser, error) {
	again := p.sent
	p.sent = true
	switch {
	case p.kept != nil:
		return p.kept.sending(), nil
	case again && p.r.GetBody != nil:
		return p.r.GetBody()
	}
	return p.r.Body, nil
}

// whole reports whether there is a next time.
func (p *payload) whole() bool { return p.kept == nil || p.kept.whole() }

// broke reports whether its sender failed to give it.
func (p *payload) broke() bool {
	if p.kept == nil {
		return false
	}
	p.kept.mu.Lock()
	defer p.kept.mu.Unlock()
	return p.kept.broke
}

// end says that it is not sent again.
func (p *payload) end() {
	if p.kept != nil {
		p.kept.end()
	}
}

// keptBody is a body that can be sent again while nothing was read of it, and once all was read and kept. The transport
// closes what it sends at every failure. The body itself is closed then, too, unless it can be sent again: a stream's
// sender waits until it is read or closed.
type keptBody struct {
	source io.ReadCloser
	keep   bool

	mu    sync.Mutex
	kept  []byte
	begun bool // something was read, or is
	ended bool // all was read
	lost  bool // not all of what was read is kept
	broke bool // its sender failed, while it was being sent
	open  bool // it is being sent
	last  bool // it is not sent again
}

func (b *keptBody) sending() *sending {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
	return &sending{of: b}
}

func (b *keptBody) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.again()
}

func (b *keptBody) again() bool { return !b.begun || b.ended && !b.lost }

// end closes it, unless it is being sent: then the transport does.
func (b *keptBody) end() {
	b.mu.Lock()
	b.last = true
	open := b.open
	b.mu.Unlock()
	if !open {
		_ = b.source.Close() // all was read, or nobody reads it
	}
}

// read reads on behind what was read before, from what was kept, then from the source. The source may take its time.
func (b *keptBody) read(from int, into []byte) (int, error) {
	b.mu.Lock()
	switch {
	case from < len(b.kept):
		defer b.mu.Unlock()
		return copy(into, b.kept[from:]), nil
	case b.ended:
		b.mu.Unlock()
		return 0, io.EOF
	}
	b.begun = true
	b.mu.Unlock()
	n, err := b.source.Read(into)
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := err != nil && !errors.Is(err, io.EOF)
	b.broke = b.broke || failed && b.open
	switch {
	case b.last || b.lost:
	case !b.keep || len(b.kept)+n > keptMost || failed:
		b.lost, b.kept = true, nil
	default:
		b.kept = append(b.kept, into[:n]...)
	}
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// close ends one sending.
func (b *keptBody) close() error {
	b.mu.Lock()
	b.open = false
	keeps := !b.last && b.again()
	b.mu.Unlock()
	if keeps {
		return nil
	}
	return b.source.Close()
}

// sending is a body as it is sent once.
type sending struct {
	of *keptBody
	at int

	mu     sync.Mutex
	closed bool
}

var errSent = errors.New("the body of a request that has ended")

// Read implements io.Reader.
func (s *sending) Read(into []byte) (int, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return 0, errSent
	}
	n, err := s.of.read(s.at, into)
	s.at += n
	return n, err
}

// Close implements io.Closer.
func (s *sending) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	return s.of.close()
}
