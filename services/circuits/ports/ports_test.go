package ports

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// seconds that the oracle counts one by one; the last one stands for all that follow.
const seconds = 12

// oracle is who has what, second by second.
type oracle map[string][]Use

func (o oracle) each(at Place, w calendar.Window, but string, see func(second int64, id string, u Use)) {
	for second := range int64(seconds + 1) {
		for id, uses := range o {
			for _, u := range uses {
				in := func(w calendar.Window) bool {
					return w.Start <= second && second < w.End || second == seconds && w.End == calendar.Forever
				}
				if id != but && u.Place == at && in(u.Window) && in(w) {
					see(second, id, u)
				}
			}
		}
	}
}

func anyUse(r *rand.Rand) Use {
	start := r.Int64N(seconds)
	w := calendar.Window{Start: start, End: start + 1 + r.Int64N(seconds-start)}
	if r.IntN(8) == 0 {
		w.End = calendar.Forever
	}
	return Use{Place: Place{"10.0.0.1", fmt.Sprintf("p%d", r.IntN(2))}, VLAN: r.IntN(4), Window: w, Rate: 1 + r.Int64N(5)}
}

// TestBookIsWhatASecondBySecondCountSays also where circuits change and go.
func TestBookIsWhatASecondBySecondCountSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b, o := NewBook(), oracle{}
		for range 12 {
			id := fmt.Sprintf("c%d", r.IntN(6))
			if r.IntN(3) == 0 {
				b.Remove(id)
				delete(o, id)
				continue
			}
			uses := []Use{anyUse(r), anyUse(r)}
			b.Put(id, r.IntN(5)+1, uses)
			o[id] = uses
		}
		compare(t, b, o, anyUse(r), fmt.Sprintf("c%d", r.IntN(7)))
	}
}

func compare(t *testing.T, b *Book, o oracle, u Use, but string) {
	t.Helper()
	taken, blocked, sums := map[int]bool{}, map[string]bool{}, map[int64]int64{}
	o.each(u.Place, u.Window, but, func(second int64, id string, other Use) {
		sums[second] += other.Rate
		if other.VLAN == u.VLAN {
			blocked[id] = true
		}
	})
	o.each(u.Place, u.Window, "", func(_ int64, _ string, other Use) { taken[other.VLAN] = true })
	var most int64
	for _, sum := range sums {
		most = max(most, sum)
	}
	if got := b.Most(u.Place, u.Window, but); got != most {
		t.Fatalf("circuits have %d bit/s of %v, not %d", got, u, most)
	}
	first, is := b.Blocking(u, but)
	if is != (len(blocked) > 0) || is && !blocked[first.ID] {
		t.Fatalf("%v is blocked by %v (%t), by %v in truth", u, first, is, blocked)
	}
	want := slices.IndexFunc([]int{1, 2, 3}, func(v int) bool { return !taken[v] }) + 1
	if got, ok := b.Free(u.Place, u.Window, VLANs{{1, 3}}); ok != (want > 0) || got != want {
		t.Fatalf("VLAN %d is free (%t), %d in truth", got, ok, want)
	}
}

func TestNumbersAreOfOneCircuitEach(t *testing.T) {
	b := NewBook()
	for i := range 3 {
		n, ok := b.Number()
		if !ok || n != i+1 {
			t.Fatalf("the number is %d (%t)", n, ok)
		}
		b.Put(fmt.Sprint("c", i), n, []Use{{}})
	}
	b.Remove("c1")
	if n, _ := b.Number(); n != 2 {
		t.Errorf("after a circuit went the number is %d", n)
	}
	for n := range MaxNumber {
		b.Put(fmt.Sprint("d", n), n+1, []Use{{Place: Place{Port: fmt.Sprint(n)}}})
	}
	if n, ok := b.Number(); ok {
		t.Errorf("%d is free where none is", n)
	}
}

// TestTheHighestNumber is as good as any other.
func TestTheHighestNumber(t *testing.T) {
	b := NewBook()
	for n := range MaxNumber - 1 {
		b.Put(fmt.Sprint("c", n), n+1, []Use{{Place: Place{Port: fmt.Sprint(n)}}})
	}
	if n, ok := b.Number(); !ok || n != MaxNumber {
		t.Errorf("%d (%t), where %d is free", n, ok, MaxNumber)
	}
}

// TestANumberThatAnotherCircuitHas stays that one's.
func TestANumberThatAnotherCircuitHas(t *testing.T) {
	b := NewBook()
	b.Put("c1", 1, []Use{{}})
	b.Put("c2", 1, []Use{{}})
	b.Remove("c1")
	if n, _ := b.Number(); n != 2 {
		t.Errorf("the number is %d", n)
	}
}

func TestTheFirstThatBlocks(t *testing.T) {
	b := NewBook()
	use := func(start, end int64) []Use { return []Use{{VLAN: 7, Window: calendar.Window{Start: start, End: end}}} }
	b.Put("late", 1, use(8, 10))
	b.Put("c2", 2, use(2, 5))
	b.Put("c1", 3, use(2, 5))
	b.Put("c3", 4, use(3, 5))
	for but, want := range map[string]string{"": "c1", "c1": "c2"} {
		if got, taken := b.Blocking(use(0, 10)[0], but); !taken || got.ID != want {
			t.Errorf("but %q: %v, not %s", but, got, want)
		}
	}
}

func TestVLANsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"": "[[0 0]]", "any": "[[1 4094]]", "1": "[[1 1]]", "4094": "[[4094 4094]]", "100": "[[100 100]]", "1780-1790": "[[1780 1790]]", "20-30, 10": "[[10 10] [20 30]]",
	} {
		if got, err := Parse(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is %v (%v), not %s", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "4095", "-1", "a", "10-", "20-10", "1,,2", "1-2-3"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if Text(0) != "" || Text(17) != "17" {
		t.Errorf("VLANs are %q and %q", Text(0), Text(17))
	}
}
