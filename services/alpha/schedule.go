package alpha

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// timeOfDay is a local time at which something happens every day; nil is never.
type timeOfDay struct{ hour, minute int }

func parseTimeOfDay(s string) (*timeOfDay, error) {
	if s == "" {
		return nil, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return nil, fmt.Errorf("time of day %q: write it as \"02:00\", or leave it empty for never", s)
	}
	return &timeOfDay{t.Hour(), t.Minute()}, nil
}

// latest is the last time this was due, at or before now.
func (d timeOfDay) latest(now time.Time) time.Time {
	y, m, day := now.Date()
	today := time.Date(y, m, day, d.hour, d.minute, 0, 0, now.Location())
	if today.After(now) {
		return time.Date(y, m, day-1, d.hour, d.minute, 0, 0, now.Location())
	}
	return today
}

// schedule is what is known of scheduled runs.
type schedule struct {
	last time.Time // when the last one was done, or the first began to be waited for
	end  time.Time // up to when runs have judged; zero: none has
	// attempts since last, and when the next may be made.
	attempts    uint32
	nextAttempt time.Time
}

// The pauses between attempts: 5 min, doubled until an hour. The first is longer than a run takes, because a run
// under way in another replica holds off this one with it.
const (
	firstPause  = 5 * time.Minute
	longestWait = time.Hour
)

func pause(attempts uint32) time.Duration {
	return min(firstPause<<min(attempts, 10), longestWait)
}

// due decides from wall-clock times only, so that it holds over suspended machines, restarts and clocks that are set: a
// run is due if its time came after the last one was done, and again after a pause as long as none succeeded. One run
// makes up for all missed ones. A last time in the future comes from a replica whose clock is ahead, up to skew, or
// from a clock that ran ahead and was set back: that one is forgotten, and the next time of day is the next run. The
// new schedule has to be written before the run.
func (d timeOfDay) due(now time.Time, s schedule) (run bool, next schedule) {
	if s.end.After(now) {
		s.end = now
	}
	if s.last.IsZero() || s.last.Sub(now) > skew {
		return false, schedule{last: now, end: s.end}
	}
	wait := s.nextAttempt.After(now) && s.nextAttempt.Sub(now) <= longestWait
	if wait || !d.latest(now).After(s.last) {
		return false, s
	}
	s.nextAttempt = now.Add(pause(s.attempts))
	s.attempts++
	return true, s
}

// done is the schedule after a run that was due has succeeded.
func (s schedule) done(now time.Time) schedule { return schedule{last: now, end: s.end} }

// judged notes up to when a run has judged.
func (s schedule) judged(end time.Time) schedule {
	if end.After(s.end) {
		s.end = end
	}
	return s
}

func (s schedule) equal(t schedule) bool {
	return s.last.Equal(t.last) && s.end.Equal(t.end) && s.attempts == t.attempts && s.nextAttempt.Equal(t.nextAttempt)
}

func scheduleFromProto(m *alphav1.Schedule) schedule {
	at := func(t *timestamppb.Timestamp) time.Time {
		if t == nil {
			return time.Time{}
		}
		return t.AsTime()
	}
	return schedule{last: at(m.GetLast()), end: at(m.GetEnd()), attempts: m.GetAttempts(), nextAttempt: at(m.GetNextAttempt())}
}

func (s schedule) toProto() *alphav1.Schedule {
	at := func(t time.Time) *timestamppb.Timestamp {
		if t.IsZero() {
			return nil
		}
		return timestamppb.New(t)
	}
	return &alphav1.Schedule{Last: at(s.last), End: at(s.end), Attempts: s.attempts, NextAttempt: at(s.nextAttempt)}
}
