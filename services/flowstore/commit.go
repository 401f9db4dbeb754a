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
	// expected is how many messages came together the last time, and so how many handlers there are that get any: of
	// the workers of a Kafka group only as many as the topic has partitions.
	expected int
	// grows is set where an insert waits for more messages now and then: rest is how many do not before the next one
	// that does, pause how many the last time.
	grows       bool
	rest, pause int
}

// Between two inserts that wait for twice as many messages as came together the last time there are eight that do not,
// and after each that waited in vain twice as many as before: messages that come steadily would go on alone, a small
// insert each, which is merged later; but of a backlog more never come than there are handlers.
const growPause, longestGrowPause = 8, 1024

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

// handover is how long an insert may go on after its message goes to another replica. Kafka gives the members of a
// group 60 s to let go of their partitions, and its client commits for up to 4 s of them: a database that stands still
// must not hold up the whole group, which would then take this member for dead and give the message away all the same.
const handover = 30 * time.Second

// store returns once item is in the database, or its insert has failed. ctx ends the wait until an insert begins. It
// does not end the insert, which goes on until run ends: while it does, no other replica may begin with the message, so
// it is waited for, for as long as handover.
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
	}
	select {
	case err := <-p.done:
		return err
	case <-time.After(handover):
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

// gather collects what shares an insert with first: what waits already, and, until linger is over, as many messages as
// came together the last time. It ends before that with enough rows.
func (c *committer[T]) gather(ctx context.Context, first pending[T]) []pending[T] {
	group, rows := []pending[T]{first}, first.rows
	full := func() bool { return rows >= c.maxRows || len(group) >= c.workers }
	timer := time.NewTimer(c.linger)
	defer timer.Stop()
	want := c.want()
	for over := false; !over && !full() && len(group) < want; {
		select {
		case p := <-c.queue:
			group, rows = append(group, p), rows+p.rows
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return group
		}
	}
	for waiting := true; waiting && !full(); {
		select {
		case p := <-c.queue:
			group, rows = append(group, p), rows+p.rows
		default:
			waiting = false
		}
	}
	c.grown(want, full() || len(group) > c.expected)
	if rows < c.maxRows || len(group) > c.expected {
		c.expected = len(group)
	}
	return group
}

// want is for how many messages the next insert waits.
func (c *committer[T]) want() int {
	if c.grows && c.rest == 0 {
		return 2 * max(c.expected, 1)
	}
	c.rest = max(c.rest-1, 0)
	return c.expected
}

// grown notes whether an insert that waited for more got more.
func (c *committer[T]) grown(want int, did bool) {
	switch {
	case want <= c.expected:
		return
	case did:
		c.pause = growPause
	default:
		c.pause = min(max(2*c.pause, growPause), longestGrowPause)
	}
	c.rest = c.pause
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
