package admit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
)

func slot(start, end, rate int64) Slot {
	return Slot{Window: calendar.Window{Start: start, End: end}, Rate: rate}
}

func TestBitsDoNotOverflow(t *testing.T) {
	const most = MaxBytes * 8
	for _, c := range []struct {
		a, b, want int64
	}{
		{0, math.MaxInt64, 0}, {3, 5, 15}, {most, 1, most}, {most + 1, 1, manyBits}, {most / 2, 2, most},
		{calendar.MaxRate, calendar.Forever, manyBits}, {1 << 32, 1 << 32, manyBits},
	} {
		if got := product(c.a, c.b); got != c.want {
			t.Errorf("%d times %d: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	all := []Slot{slot(0, 1<<32, 1<<32), slot(1<<32, 1<<33, 1<<32), slot(1<<33, calendar.Forever, calendar.MaxRate)}
	if got := carries(all); got != manyBits {
		t.Errorf("slots that carry more than any volume: %d", got)
	}
	if got, ok := cut(all[2:], most); !ok || got[0].End != 1<<33+2 {
		t.Errorf("the greatest volume at the highest rate: %v %t", got, ok)
	}
	if got, ok := cut([]Slot{slot(calendar.Forever-2, calendar.Forever, 1)}, most); ok {
		t.Errorf("the greatest volume in two seconds: %v", got)
	}
}

func TestThousandthsAreRoundedUp(t *testing.T) {
	for _, c := range []struct{ part, whole, want int64 }{
		{0, 1, 0}, {1, 1, 1000}, {1, 3, 334}, {2, 3, 667}, {1, 1000, 1}, {1, 1001, 1}, {calendar.MaxRate, calendar.MaxRate, 1000},
		{calendar.MaxRate - 1, calendar.MaxRate, 1000}, {math.MaxInt64, 1, 1 << 62}, {1 << 60, 1 << 8, 1000 << 52}, {1 << 60, 1, 1 << 62},
		{math.MaxInt64, 2, 1 << 62}, {1 << 61, 125, 1 << 62}, // 2^64 times, which a word does not hold
	} {
		if got := thousandths(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.part, c.whole, got, c.want)
		}
	}
}

// gaps is a square whose upper path is free every other second, for one second more each time, and whose lower path is
// not there.
func gaps(t *testing.T, n int64) *Book {
	t.Helper()
	b := square(t)
	at := int64(0)
	for i := range n {
		g := Grant{ID: fmt.Sprint("gap", i), Path: []string{"ab"}, Slots: []Slot{slot(at, at+1, 8*gbit)}}
		if err := b.Enter(g); err != nil {
			t.Fatal(err)
		}
		at += i + 2
	}
	if err := b.SetOutages("ac", []calendar.Outage{{Window: calendar.Window{Start: 0, End: calendar.Forever}}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func ask8(seconds, end int64) Request {
	return Request{ID: "v", From: "a", To: "d", Bytes: seconds * gbit, Window: calendar.Window{Start: 0, End: end}}
}

func TestAVolumeTakesTheEarliestSlotsUnlessTheyAreTooMany(t *testing.T) {
	b := gaps(t, 200)
	g, refusal := b.Decide(ask8(1+2+3, 1000))
	if refusal != nil || !slices.Equal(g.Slots, []Slot{slot(1, 2, 8*gbit), slot(3, 5, 8*gbit), slot(6, 9, 8*gbit)}) {
		t.Errorf("three slots: %+v %+v", g, refusal)
	}
	g, refusal = b.Decide(ask8(5050, 20_000))
	if refusal != nil || len(g.Slots) != MaxSlots || g.Slots[0] != slot(1, 2, 8*gbit) {
		t.Errorf("the earliest 100: %+v %+v", g, refusal)
	}
	// 101 slots until second 5252 carry 5151 seconds' worth, the 100 longest of them one less.
	g, refusal = b.Decide(ask8(5150, 5252))
	if refusal != nil || len(g.Slots) != MaxSlots || g.Slots[0].Start != 3 || carries(g.Slots) != 5150*8*gbit {
		t.Errorf("100 slots: %+v %+v", g, refusal)
	}
	g, refusal = b.Decide(ask8(5151, 5252))
	if g != nil || refusal.Code != SearchBound {
		t.Fatalf("101 slots: %+v %+v", g, refusal)
	}
	for _, o := range refusal.Offers {
		if g, _ := b.Decide(o.Request); g == nil {
			t.Errorf("offered and refused: %+v", o)
		}
		if o.Kind == LessVolume && o.Request.Bytes != 5150*gbit {
			t.Errorf("less volume: %+v", o)
		}
	}
	if len(refusal.Offers) != 2 {
		t.Errorf("offers %+v", refusal.Offers)
	}
}

// A short slot is left out for a longer one, however late it begins.
func TestTheLargestSlotsAreThoseThatCarryMost(t *testing.T) {
	all := []Slot{slot(0, 1, 3)}
	for i := range int64(MaxSlots) {
		all = append(all, slot(10+10*i, 12+10*i, 5))
	}
	all = append(all, slot(1_000_000, 1_000_001, 6))
	if got := largest(all); !slices.Equal(got, all[1:MaxSlots+1]) {
		t.Errorf("%d slots, from %v to %v", len(got), got[0], got[len(got)-1])
	}
}

func TestALastSecondIsBookedWhole(t *testing.T) {
	b := square(t)
	r := fromAToD("v", 3)
	r.Bytes = 1
	g, refusal := b.Decide(r)
	if refusal != nil || !slices.Equal(g.Slots, []Slot{slot(1000, 1003, 3)}) {
		t.Errorf("8 bits at 3 bit/s: %+v %+v", g, refusal)
	}
}
