package exporter

import (
	"github.com/cespare/xxhash/v2"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// place says where a datagram stands among those of its session.
type place int

const (
	inOrder place = iota
	late
	replayed
	restarted  // the exporter: what it defined before holds no more
	renumbered // its numbers begin anew, and nothing else
)

const (
	// remembered is how many datagrams a replay is recognised among.
	remembered = 4096
	// confirm is how many datagrams must go on from each other, behind the numbers so far but ahead of their time,
	// until these are the numbers: one may be anybody's.
	confirm = 3
	// maxGap is the largest gap counted as loss, in units of the sequence; above
	// it the number was set anew rather than counted on.
	maxGap = 1 << 20
)

// sequence finds loss. NetFlow v9 and sFlow count packets, v5 and IPFIX count records.
type sequence struct {
	seen  map[uint64]struct{} // hashes of the last datagrams
	ring  []uint64            // the same, oldest at next
	next  int
	begun bool
	last  decode.Header // the newest datagram's
	units [conventions]uint32
	known bool // units are those of last
	habit int
	lost  uint64
	// behind is how many datagrams have gone on from each other behind last; back is the newest of them.
	behind int
	back   uint32
	// skipped is what the last gap counted as lost, after the number before.
	skipped uint64
	before  uint32
}

// place is decided before the body is decoded, because a restarted exporter's
// templates must be forgotten first. rebooted reports that by the header the exporter
// started after the last datagram.
func (s *sequence) place(h decode.Header, datagram []byte, rebooted bool) place {
	if s.remember(xxhash.Sum64(datagram)) {
		return replayed
	}
	// A number that is far ahead may be one that began anew: the uptime tells, which only grows.
	if ahead := int32(h.Sequence-s.last.Sequence) >= 0; !s.begun || ahead && !(rebooted && uptimeFell(h, s.last)) {
		s.behind = 0
		return inOrder
	}
	switch {
	case rebooted:
		s.anew()
		return restarted
	case !laterThan(h, s.last) && s.last.Sequence-h.Sequence <= maxGap:
		return late // by the exporter's own clock as well
	}
	if s.behind == 0 || int32(h.Sequence-s.back) < 0 {
		s.behind = 0
	}
	s.behind, s.back = s.behind+1, h.Sequence
	if s.behind < confirm {
		return late
	}
	s.anew()
	return renumbered
}

// laterThan compares by the exporter's own clock: in sFlow its uptime, which is all that its header says.
func laterThan(h, before decode.Header) bool {
	if h.Source == flowrecord.SFlow {
		return int32(h.Uptime-before.Uptime) > 0
	}
	return h.ExportTime.After(before.ExportTime)
}

// uptimeFell reports whether an exporter says a smaller uptime than before, other than one that wrapped, as it does
// after 49.7 days.
func uptimeFell(h, before decode.Header) bool {
	if h.Uptime >= before.Uptime {
		return false
	}
	passed := h.ExportTime.Sub(before.ExportTime)
	return (milliseconds(h.Uptime-before.Uptime) - passed).Abs() > jumpLimit
}

// unskip uncounts a gap that was none: the numbers go on inside it, so the datagram behind it was forged.
func (s *sequence) unskip(h decode.Header) int64 {
	if s.skipped == 0 || int32(h.Sequence-s.before) < 0 {
		return 0
	}
	back := min(s.lost, s.skipped)
	s.lost, s.skipped = s.lost-back, 0
	return -int64(back)
}

// anew begins with the next datagram.
func (s *sequence) anew() { s.begun, s.known, s.behind = false, false, 0 }

// remember reports whether the datagram came before.
func (s *sequence) remember(hash uint64) bool {
	if _, ok := s.seen[hash]; ok {
		return true
	}
	if s.seen == nil {
		s.seen = map[uint64]struct{}{}
	}
	s.seen[hash] = struct{}{}
	if len(s.ring) < remembered {
		s.ring = append(s.ring, hash)
		return false
	}
	delete(s.seen, s.ring[s.next])
	s.ring[s.next] = hash
	s.next = (s.next + 1) % remembered
	return false
}

// conventions are the ways in which exporters count. RFC 7011 section 3.1 says:
// data records, options among them, sent before this message. softflowd leaves
// options out and counts this message in.
const (
	allBefore = iota
	flowsBefore
	allUpToThis
	flowsUpToThis
	conventions
)

// advance counts the datagram and returns by how much the number of lost units
// changed, negative for a late datagram that had been counted as lost.
func (s *sequence) advance(h decode.Header, m *decode.Message, p place) (lost int64, jump bool) {
	units := unitsOf(h, m)
	if p == late {
		back := min(s.lost, uint64(units[allBefore]))
		s.lost -= back
		return -int64(back), false
	}
	if p == renumbered {
		lost = s.unskip(h)
	}
	if s.begun && s.known {
		lost, jump = s.gap(h, units)
	}
	s.begun, s.last, s.units = true, h, units
	// What a set without template holds is not known, so neither is what comes next.
	s.known = h.Source == flowrecord.NetFlowV9 || m.NoTemplate == 0
	return lost, jump
}

// gap compares with what each convention expects. The exporter's habit is the
// one that last fitted.
func (s *sequence) gap(h decode.Header, units [conventions]uint32) (lost int64, jump bool) {
	var gaps [conventions]uint32
	for c := range conventions {
		step := s.units[c]
		if c >= allUpToThis {
			step = units[c]
		}
		gaps[c] = h.Sequence - s.last.Sequence - step
	}
	if gaps[s.habit] == 0 {
		return 0, false
	}
	for c := range conventions {
		if gaps[c] == 0 {
			s.habit = c
			return 0, false
		}
	}
	switch n := gaps[s.habit]; {
	case int32(n) < 0:
		return 0, false // fewer than expected: nothing can be said
	case n > maxGap:
		return 0, true
	default:
		s.lost += uint64(n)
		s.skipped, s.before = uint64(n), s.last.Sequence
		return int64(n), false
	}
}

func unitsOf(h decode.Header, m *decode.Message) [conventions]uint32 {
	flows := uint32(m.Records)
	all := flows + uint32(m.OptionRecords)
	switch h.Source {
	case flowrecord.NetFlowV9, flowrecord.SFlow:
		return [conventions]uint32{1, 1, 1, 1}
	case flowrecord.NetFlowV5:
		flows = uint32(h.Count)
		return [conventions]uint32{flows, flows, flows, flows}
	}
	return [conventions]uint32{all, flows, all, flows}
}

// lostTrack is for a datagram that did not decode: the next one starts anew.
func (s *sequence) lostTrack() { s.known = false }
