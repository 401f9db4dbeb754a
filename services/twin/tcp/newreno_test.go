package tcp

import "testing"

// RFC 3042: with three segments out and the first lost, two duplicates come back and never a third; the segments
// they let go make the third.
func TestTheFirstTwoDuplicatesLetASegmentGoEach(t *testing.T) {
	s := NewSender(Config{Initial: 3})
	for range 3 {
		s.Next(0)
	}
	now := Time(second / 50)
	for i := range 2 {
		s.Ack(now, 0, 0, 0, now)
		if seq, again, ok := s.Next(now); !ok || again || seq != int64(3+i) {
			t.Fatalf("duplicate %d: segment %d, retransmission %t, sent %t", i+1, seq, again, ok)
		}
		if _, _, ok := s.Next(now); ok {
			t.Fatalf("duplicate %d let two segments go", i+1)
		}
	}
	if s.Congestion() != 3 {
		t.Errorf("the window is %g: limited transmit does not open it", s.Congestion())
	}
	s.Ack(now, 0, 0, 0, now)
	if seq, again, ok := s.Next(now); !ok || !again || seq != 0 {
		t.Errorf("the third duplicate retransmits the first segment, not %d", seq)
	}
	// What was sent beyond the window is no reason for a larger one after it (RFC 5681, section 3.2, step 2).
	if s.ssthresh != 2 {
		t.Errorf("threshold %g, want half of three segments, or two", s.ssthresh)
	}
}

// RFC 6582, section 3.2, step 3: only the first partial acknowledgement of a recovery begins the timer anew.
func TestTheTimerRunsThroughARecovery(t *testing.T) {
	s := NewSender(Config{Initial: 20})
	for range 20 {
		s.Next(0)
	}
	at := func(ms int64, ack int64) Time {
		now := ms * second / 1000
		s.Ack(now, ack, 0, 0, second/50)
		for {
			if _, _, ok := s.Next(now); !ok {
				return s.Deadline
			}
		}
	}
	for range 10 {
		at(20, 0)
	}
	first := at(40, 2)
	if second := at(60, 4); second != first {
		t.Errorf("the second partial acknowledgement moved the timer from %d to %d", first, second)
	}
	if third := at(80, 6); third != first {
		t.Errorf("the third moved it from %d to %d", first, third)
	}
	if after := at(100, s.recover); after == first || s.recovering {
		t.Errorf("after the recovery the timer is %d still, recovering %t", after, s.recovering)
	}
}
