package reoptimise

import (
	"slices"
	"testing"
)

func TestAMoveIsWorthIt(t *testing.T) {
	for name, c := range map[string]struct {
		had, has, least int64
		want            bool
	}{
		"a tenth less, a tenth wanted": {100, 90, 10, true},
		"less than a tenth":            {100, 91, 10, false},
		"the same, whatever is wanted": {100, 100, 0, false},
		"dearer":                       {100, 110, 0, false},
		"a little, nothing wanted":     {1000, 999, 0, true},
	} {
		m := Move{Had: Measure{Cost: c.had, IGP: 1}, Has: Measure{Cost: c.has, IGP: 2}} // by the circuit's metric, whatever the IGP's
		if got := m.Worth(c.least); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWhatAMoveGains(t *testing.T) {
	m := Move{Rate: 5, Had: Measure{Cost: 100, IGP: 40, Hops: 6, Delay: 900, DelayKnown: true}, Has: Measure{Cost: 70, IGP: 50, Hops: 4, Delay: 300, DelayKnown: true}}
	if got, want := m.Gain(), (Gain{Cost: 30, IGP: -10, Hops: 2, Delay: 600, Freed: 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	m.Had.DelayKnown = false
	if got := m.Gain().Delay; got != 0 {
		t.Errorf("%d of a delay that was not known", got)
	}
}

// Those that free most are first, and no more than so many.
func TestMovesAreChosen(t *testing.T) {
	move := func(id string, rate, hops int64) Move {
		return Move{ID: id, Rate: rate, Had: Measure{Cost: 10 * hops, Hops: hops, Delay: 9, DelayKnown: true}, Has: Measure{Cost: 10, Hops: 1}}
	}
	all := []Move{move("none", 5, 1), move("small", 1, 3), move("large", 5, 2), move("larger", 3, 3), move("as large", 5, 2)}
	got, left := Choose(all, 10, 3)
	var ids []string
	for _, m := range got {
		ids = append(ids, m.ID)
		if m.Gain().Delay != 0 {
			t.Errorf("%s gains %d of a delay that is not known", m.ID, m.Gain().Delay)
		}
	}
	if want := []string{"larger", "as large", "large"}; !slices.Equal(ids, want) || left != 1 {
		t.Errorf("moves %v and %d more, want %v and 1", ids, left, want)
	}
}
