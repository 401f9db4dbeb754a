package push

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// stamps are the times of records. They order change sets by when they were made and applied, so none is
// earlier than one that this process has read or written: after a clock that was ahead, here or on another
// host, was set back, every change set would seem planned before those in force. Until the clock has caught
// up, times are those of the latest record.
type stamps struct {
	mu     sync.Mutex
	latest time.Time
}

// saw takes the times of a record.
func (s *stamps) saw(cs *pushv1.ChangeSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range append([]*timestamppb.Timestamp{cs.GetCreated()}, last(cs.GetHistory())...) {
		if at := t.AsTime(); t != nil && at.After(s.latest) {
			s.latest = at
		}
	}
}

// last is the time of the last step.
func last(history []*pushv1.Transition) []*timestamppb.Timestamp {
	if len(history) == 0 {
		return nil
	}
	return []*timestamppb.Timestamp{history[len(history)-1].GetTime()}
}

// next is now, or just after the latest. Only the wall clock counts: time.Now also reads a clock that does not step
// with it, and two such times are compared by that.
func (s *stamps) next(now time.Time) *timestamppb.Timestamp {
	now = now.Round(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.After(s.latest) {
		now = s.latest.Add(1)
	}
	s.latest = now
	return timestamppb.New(now)
}

// created is the time of a new record, after those of all that there are.
func (c *Component) created(ctx context.Context) (*timestamppb.Timestamp, error) {
	if _, err := c.readable(ctx); err != nil { // which sees their times
		return nil, err
	}
	return c.stamps.next(c.now()), nil
}
