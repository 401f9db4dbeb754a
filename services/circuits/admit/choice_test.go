package admit

import (
	"container/heap"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
)

func TestAPriceIsCircuitsByPriorityThenBandwidth(t *testing.T) {
	d := &displacing{holders: []holder{{Holder: Holder{Priority: 7}, rate: 3}, {Holder: Holder{Priority: 7}, rate: 4}, {Holder: Holder{Priority: 2}, rate: 1}}}
	want := price{rate: 8}
	want.circuits[7], want.circuits[2] = 2, 1
	if got := d.price([]int{0, 1, 2}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// The cheapest is tried first, and of two that cost the same the one that was found first.
func TestTheOrderInWhichChoicesAreTried(t *testing.T) {
	one := func(priority int, rate int64, at int) choice {
		c := choice{at: at, price: price{rate: rate}}
		c.circuits[priority] = 1
		return c
	}
	want := []choice{one(7, 1, 3), one(7, 5, 1), one(7, 5, 4), one(6, 1, 0), one(6, 2, 2)}
	var wait choices
	for _, i := range []int{3, 1, 4, 0, 2} {
		heap.Push(&wait, want[i])
	}
	for i, w := range want {
		if got := heap.Pop(&wait).(choice); got.at != w.at {
			t.Errorf("place %d is of the one found at %d, want %d", i, got.at, w.at)
		}
	}
	if (choices{want[0]}).Less(0, 0) {
		t.Error("a choice is before itself")
	}
}

// Windows are half-open: one that ends when the other begins leaves it alone.
func TestWindowsThatTouchDoNotOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b calendar.Window
		want bool
	}{
		{calendar.Window{Start: 1, End: 3}, calendar.Window{Start: 3, End: 5}, false},
		{calendar.Window{Start: 3, End: 5}, calendar.Window{Start: 1, End: 3}, false},
		{calendar.Window{Start: 1, End: 4}, calendar.Window{Start: 3, End: 5}, true},
		{calendar.Window{Start: 1, End: 9}, calendar.Window{Start: 3, End: 5}, true},
	} {
		if got := overlap(c.a, c.b); got != c.want {
			t.Errorf("%v and %v overlap: %t", c.a, c.b, got)
		}
	}
}
