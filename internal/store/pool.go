package store

import "context"

// pool lends sessions of the engine, each of which runs one statement at a time.
type pool struct {
	open    context.Context // ends when no more are lent
	idle    chan *session   // nil stands for one not opened yet
	connect func() (*session, error)
}

func newPool(open context.Context, size int, connect func() (*session, error)) *pool {
	p := &pool{open: open, idle: make(chan *session, size), connect: connect}
	for range size {
		p.idle <- nil
	}
	return p
}

// take waits for an idle session and opens it where it was not yet.
func (p *pool) take(ctx context.Context) (*session, error) {
	if p.open.Err() != nil {
		return nil, context.Cause(p.open)
	}
	select {
	case <-p.open.Done():
		return nil, context.Cause(p.open)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case s := <-p.idle:
		if s != nil {
			return s, nil
		}
		s, err := p.connect()
		if err != nil {
			p.idle <- nil
		}
		return s, err
	}
}

func (p *pool) give(s *session) { p.idle <- s }

// close waits until all sessions are back.
func (p *pool) close() {
	for range cap(p.idle) {
		(<-p.idle).close()
	}
}
