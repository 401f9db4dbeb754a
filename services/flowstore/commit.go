package flowstore

import (
	"context"
	"time"
)

// committer lets several bus handlers share one insert: each waits until the
// insert that holds its rows has succeeded, and only then is its message
// acknowledged. While one insert runs, the next one's messages gather.
type committer[T any] struct {
	queue   chan pending[T]
	workers int
	maxRows int
	linger  time.Duration
	insert  func(ctx context.Context, items []T) error
}

type pending[T any] struct {
	item T
	rows int
	done chan error
}

func newCommitter[T any](cfg Configuration, insert func(context.Context, []T) error) *committer[T] {
	return &committer[T]{
		queue: make(chan pending[T]), workers: cfg.Workers, maxRows: cfg.MaxRows, linger: cfg.Linger, insert: insert,
	}
}

// store returns once item is in the database.
func (c *committer[T]) store(ctx context.Context, item T, rows int) error {
	p := pending[T]{item, rows, make(chan error, 1)}
	select {
	case c.queue <- p:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run inserts until ctx ends.
func (c *committer[T]) run(ctx context.Context) {
	for {
		select {
		case p := <-c.queue:
			c.commit(ctx, c.gather(ctx, p))
		case <-ctx.Done():
			return
		}
	}
}

// gather collects what shares an insert with first: until there are enough
// rows, until every worker waits (no more can come), or until linger is over.
func (c *committer[T]) gather(ctx context.Context, first pending[T]) []pending[T] {
	group, rows := []pending[T]{first}, first.rows
	timer := time.NewTimer(c.linger)
	defer timer.Stop()
	for rows < c.maxRows && len(group) < c.workers {
		select {
		case p := <-c.queue:
			group, rows = append(group, p), rows+p.rows
		case <-timer.C:
			return group
		case <-ctx.Done():
			return group
		}
	}
	return group
}

func (c *committer[T]) commit(ctx context.Context, group []pending[T]) {
	items := make([]T, len(group))
	for i, p := range group {
		items[i] = p.item
	}
	err := c.insert(ctx, items)
	for _, p := range group {
		if err != nil && len(group) > 1 {
			p.done <- c.insert(ctx, []T{p.item}) // what cannot be inserted must not hold up what can
			continue
		}
		p.done <- err
	}
}
