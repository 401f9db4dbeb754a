package tcp

import "testing"

// sendAll takes what may be sent now.
func sendAll(s *Sender, now Time) (out []int64) {
	for {
		seq, _, ok := s.Next(now)
		if !ok {
			return out
		}
		out = append(out, seq)
	}
}

func newOldSender(t *testing.T) *Sender {
	t.Helper()
	s := NewSender(Config{NS2: true, Initial: 20, Window: 100})
	if got := len(sendAll(s, 0)); got != 20 {
		t.Fatalf("%d segments at the start, want 20", got)
	}
	return s
}

func TestNS2SendsNothingBeforeTheThresholdAndTwoBeyond(t *testing.T) {
	s := newOldSender(t)
	s.Ack(second/50, 10, 0, 0, 0) // window 21, 10 out: 11 to go
	if got := len(sendAll(s, second/50)); got != 11 {
		t.Fatalf("%d segments, want 11", got)
	}
	for i, want := range []int{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1} {
		// At the third duplicate the hole goes; the window is 10 + 3 and
		// opens by one each, past the 21 that are out at the twelfth.
		s.Ack(second/40, 10, 0, 0, 0)
		if got := len(sendAll(s, second/40)); got != want {
			t.Errorf("duplicate %d: %d segments, want %d", i+1, got, want)
		}
	}
	if s.Reductions != 1 || s.Congestion() != 10 {
		t.Errorf("%d reductions, window %g; want 1 and 10", s.Reductions, s.Congestion())
	}
}

func TestNS2FillsOneHolePerPartialAcknowledgement(t *testing.T) {
	s := newOldSender(t)
	s.Ack(second/50, 5, 0, 0, 0)
	sendAll(s, second/50)
	for range 3 {
		s.Ack(second/40, 5, 0, 0, 0)
	}
	if got := sendAll(s, second/40); len(got) == 0 || got[0] != 5 {
		t.Fatalf("sent %v, want 5 first", got)
	}
	s.Ack(second/20, 8, 0, 0, 0)
	if got := sendAll(s, second/20); len(got) == 0 || got[0] != 8 {
		t.Errorf("sent %v after a partial acknowledgement, want 8 first", got)
	}
	if s.Reductions != 1 {
		t.Errorf("%d reductions in one window, want 1", s.Reductions)
	}
}

func TestNS2TimersRunInTicks(t *testing.T) {
	s := NewSender(Config{NS2: true, Initial: 1, Window: 1})
	sendAll(s, 0)
	if s.Deadline != 6*second {
		t.Errorf("first timer %d, want 6 s", s.Deadline)
	}
	now := Time(0)
	for i := range int64(50) {
		now += second / 40
		s.Ack(now, i+1, 0, 0, 0)
		sendAll(s, now)
	}
	// A round trip of 25 ms is one tick: 1 + 4 * 0.5, which never falls below.
	if got := s.Deadline - now; got != 3*tick {
		t.Errorf("timer %d ps, want three ticks", got)
	}
	s.Expire(s.Deadline)
	if s.Timeouts != 1 || s.Congestion() != 1 {
		t.Errorf("%d timeouts, window %g", s.Timeouts, s.Congestion())
	}
}
