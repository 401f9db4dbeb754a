package online

import (
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
)

// Pair is a pair of which a flow is alpha now.
type Pair struct {
	detect.Pair
	// Began is when the record that decided arrived, Last when one arrived last that kept the pair alpha.
	Began, Last time.Time
	// Certain: of some evidence even the lower bound is above the threshold. Missed is what its flow may have sent
	// beside it.
	Certain bool
	Missed  uint64
}

// Next is a pair after a finding that arrived at now; the zero Pair is one that was not alpha. Only a sum above the
// threshold makes it alpha, and one whose bounds still reach the threshold keeps it so: an estimate that swings about
// the threshold within its error is one alarm.
func Next(rule detect.Rule, p Pair, f Finding, now time.Time) (next Pair, began bool) {
	began = p.Began.IsZero()
	if began && !f.Alpha {
		return p, false
	}
	if began {
		p.Began = now
	}
	if now.After(p.Last) {
		p.Last = now
	}
	if !f.Alpha {
		return p, false
	}
	var old []detect.Pair
	if !began {
		old = []detect.Pair{p.Pair}
	}
	p.Pair = detect.Join(rule, old, map[detect.Key][]detect.Evidence{f.Key: {f.Evidence}}).Pairs[0]
	p.Certain = p.Certain || f.Certain()
	p.Missed = max(p.Missed, f.Missed)
	return p, began
}

// Join is a pair of which some was found before, and some now.
func Join(rule detect.Rule, before, now Pair) Pair {
	now.Pair = detect.Join(rule, []detect.Pair{before.Pair}, map[detect.Key][]detect.Evidence{before.Key: now.Evidence}).Pairs[0]
	now.Began = before.Began
	if before.Last.After(now.Last) {
		now.Last = before.Last
	}
	now.Certain, now.Missed = now.Certain || before.Certain, max(now.Missed, before.Missed)
	return now
}

// Over reports whether nothing has kept the pair alpha for as long as hold.
func (p Pair) Over(hold time.Duration, now time.Time) bool { return !now.Before(p.Last.Add(hold)) }
