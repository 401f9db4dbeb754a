package calendar

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const gbit = 1_000_000_000

func newCalendar(t *testing.T, soft, hard int64) *Calendar {
	t.Helper()
	c, err := New(soft, hard)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// OSCARS keeps the changes of an instant in a set, in which two equal ones are one, and books the port twice.
func TestTwoEqualStartsCountTwice(t *testing.T) {
	c := newCalendar(t, 10*gbit, 10*gbit)
	night := Window{Start: 1_000, End: 2_000}
	if err := c.Book(night, 6*gbit, Soft); err != nil {
		t.Fatal(err)
	}
	if err := c.Book(night, 6*gbit, Soft); !errors.Is(err, ErrFull) {
		t.Errorf("the second 6 Gbit/s of 10: %v", err)
	}
	if err := c.Add(night, 6*gbit); err != nil {
		t.Fatal(err)
	}
	if free := c.LeastFree(night, Soft); free != -2*gbit {
		t.Errorf("%d bit/s free where two times 6 of 10 Gbit/s are booked", free)
	}
}

func TestNeighboursThatTouchShareNoSecond(t *testing.T) {
	c := newCalendar(t, 10, 10)
	for _, w := range []Window{{10, 20}, {20, 30}, {5, 10}, {30, Forever}} {
		if err := c.Book(w, 10, Soft); err != nil {
			t.Errorf("%v: %v", w, err)
		}
	}
	if c.Size() != 2 {
		t.Errorf("%d changes of a rate that changes at 5 only, and at Forever", c.Size())
	}
}

func TestTheHardCapIsForWhomItIsAsked(t *testing.T) {
	c := newCalendar(t, 6, 10)
	w := Window{0, 10}
	for _, step := range []struct {
		rate int64
		cap  Cap
		fits bool
	}{{7, Soft, false}, {6, Soft, true}, {1, Soft, false}, {5, Hard, false}, {4, Hard, true}, {1, Hard, false}} {
		if err := c.Book(w, step.rate, step.cap); (err == nil) != step.fits {
			t.Errorf("%d up to cap %d: %v", step.rate, step.cap, err)
		}
	}
	if soft, hard := c.Caps(); soft != 6 || hard != 10 || c.LeastFree(w, Soft) != -4 || c.LeastFree(w, Hard) != 0 {
		t.Errorf("caps %d and %d, free %d and %d", soft, hard, c.LeastFree(w, Soft), c.LeastFree(w, Hard))
	}
}

func TestShareRoundsDownAndDoesNotOverflow(t *testing.T) {
	for _, c := range []struct{ port, thousandths, want int64 }{
		{10 * gbit, 800, 8 * gbit}, {1999, 500, 999}, {999, 999, 998}, {MaxRate, 1000, MaxRate}, {MaxRate, 0, 0}, {7, 1000, 7},
	} {
		if got := Share(c.port, c.thousandths); got != c.want {
			t.Errorf("%d thousandths of %d: %d, want %d", c.thousandths, c.port, got, c.want)
		}
	}
}

func TestWhatIsNoReservationIsRefused(t *testing.T) {
	c := newCalendar(t, 10, MaxRate)
	good := Window{1, 2}
	for name, err := range map[string]error{
		"backwards":              c.Book(Window{2, 1}, 1, Soft),
		"empty":                  c.Book(Window{2, 2}, 1, Soft),
		"before 1970":            c.Book(Window{-1, 2}, 1, Soft),
		"beyond Forever":         c.Add(Window{1, Forever + 1}, 1),
		"removed, no window":     c.Remove(Window{math.MinInt64, math.MaxInt64}, 1),
		"outage without window":  c.SetOutages([]Outage{{Window: Window{3, 3}, Left: 1}}),
		"outage before 1970":     c.SetOutages([]Outage{{Window: Window{-3, 3}, Left: 1}}),
		"start is the most":      Window{math.MaxInt64, math.MaxInt64}.Check(),
		"end wraps around zero":  Window{5, math.MinInt64}.Check(),
		"an end behind the last": Window{5, math.MaxInt64}.Check(),
	} {
		if !errors.Is(err, ErrWindow) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, soft := New(11, 10)
	_, negative := New(-1, 10)
	_, much := New(1, MaxRate+1)
	for name, err := range map[string]error{
		"rate 0":                  c.Book(good, 0, Soft),
		"rate below 0":            c.Add(good, -1),
		"rate beyond MaxRate":     c.Add(good, MaxRate+1),
		"removed rate 0":          c.Remove(good, 0),
		"outage leaves less":      c.SetOutages([]Outage{{Window: good, Left: -1}}),
		"outage leaves more":      c.SetOutages([]Outage{{Window: good, Left: MaxRate + 1}}),
		"soft cap above the hard": soft, "soft cap below 0": negative, "hard cap beyond MaxRate": much,
	} {
		if !errors.Is(err, ErrRate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Remove(good, 1); !errors.Is(err, ErrAbsent) {
		t.Errorf("removed what was not booked: %v", err)
	}
	if c.Size() != 0 || len(c.Outages()) != 0 {
		t.Errorf("refused, and left %d changes and %d outages", c.Size(), len(c.Outages()))
	}
}

func TestSumsDoNotOverflow(t *testing.T) {
	c := newCalendar(t, MaxRate, MaxRate)
	w := Window{0, Forever}
	if err := c.Add(w, MaxRate); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(Window{5, 6}, 1); !errors.Is(err, ErrRate) {
		t.Errorf("more than MaxRate in all: %v", err)
	}
	if err := c.SetOutages([]Outage{{Window: w}}); err != nil {
		t.Fatal(err)
	}
	if free := c.LeastFree(w, Hard); free != -MaxRate {
		t.Errorf("a full link that is down has %d free", free)
	}
	if w, ok := (Path{c}).NextWindow(0, 1, MaxRate, Hard); ok {
		t.Errorf("window %v on it", w)
	}
	if err := c.Remove(w, MaxRate); err != nil {
		t.Fatal(err)
	}
	if err := c.SetOutages(nil); err != nil || c.Size() != 0 {
		t.Errorf("%v; %d changes left", err, c.Size())
	}
}

func TestEveryAnswerIsTheOracles(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 0))
		pairs := []*pair{newPair(t, r), newPair(t, r), newPair(t, r)}
		for range 250 {
			pairs[r.IntN(len(pairs))].change(t, r)
			if r.IntN(4) == 0 {
				compare(t, seed, r, pairs[:r.IntN(len(pairs)+1)])
			}
		}
		for _, p := range pairs {
			for len(p.booked) > 0 {
				p.remove(t, r)
			}
			if err := p.SetOutages(nil); err != nil || p.Size() != 0 {
				t.Fatalf("seed %d: all removed, %d changes left: %v", seed, p.Size(), err)
			}
		}
	}
}

// compare asks a path and the oracles of its links the same at random.
func compare(t *testing.T, seed uint64, r *rand.Rand, pairs []*pair) {
	t.Helper()
	var path Path
	var oracles []*seconds
	for _, p := range pairs {
		path, oracles = append(path, p.Calendar), append(oracles, p.oracle)
	}
	w, limit, rate := anyWindow(r), Cap(r.IntN(2)), r.Int64N(30)+1
	if got, want := path.LeastFree(w, limit), leastFree(oracles, w, limit); got != want {
		t.Fatalf("seed %d: least free of %d links in %v: %d, want %d", seed, len(path), w, got, want)
	}
	length := r.Int64N(60) + 1
	if r.IntN(20) == 0 {
		length = Forever - horizon
	}
	got, ok := path.NextWindow(w.Start, length, rate, limit)
	want, found := nextWindow(oracles, w.Start, length, rate, limit)
	if got != want && ok || ok != found {
		t.Fatalf("seed %d: next %d s at %d from %d: %v %t, want %v %t", seed, length, rate, w.Start, got, ok, want, found)
	}
	compareOpen(t, seed, path, oracles, w.Start, rate, limit)
	comparePieces(t, seed, path, oracles, w, limit)
	w.End = min(w.End, horizon)
	compareWidest(t, seed, path, oracles, w, length, limit)
	for i, c := range path {
		compareLacks(t, seed, c, oracles[i], w, rate, limit)
	}
}

func compareOpen(t *testing.T, seed uint64, path Path, oracles []*seconds, from, rate int64, limit Cap) {
	t.Helper()
	want := int64(horizon + 1)
	for want > from && leastFree(oracles, Window{want - 1, Forever}, limit) >= rate {
		want--
	}
	got, ok := path.OpenWindow(from, rate, limit)
	if ok != (want <= horizon) || ok && got != (Window{want, Forever}) {
		t.Fatalf("seed %d: open at %d from %d: %v %t, want %d", seed, rate, from, got, ok, want)
	}
}

func comparePieces(t *testing.T, seed uint64, path Path, oracles []*seconds, w Window, limit Cap) {
	t.Helper()
	at := w.Start
	for piece, free := range path.Pieces(w, limit) {
		if want := leastFree(oracles, piece, limit); free != want || piece.Start != at || piece.Check() != nil {
			t.Fatalf("seed %d: piece %v of %v has %d free, want %d from %d on", seed, piece, w, free, want, at)
		}
		for s := piece.Start; s < min(piece.End, horizon); s++ {
			if want := leastFree(oracles, Window{s, s + 1}, limit); free != want {
				t.Fatalf("seed %d: piece %v has %d free, and %d at %d", seed, piece, free, want, s)
			}
		}
		at = piece.End
	}
	if at != w.End {
		t.Fatalf("seed %d: pieces of %v end at %d", seed, w, at)
	}
}

func compareWidest(t *testing.T, seed uint64, path Path, oracles []*seconds, w Window, length int64, limit Cap) {
	t.Helper()
	var want Window
	best := int64(math.MinInt64)
	for s := w.Start; s+length <= w.End; s++ {
		if free := leastFree(oracles, Window{s, s + length}, limit); free > best {
			want, best = Window{s, s + length}, free
		}
	}
	got, rate, ok := path.WidestWindow(w, length, limit)
	if ok != (best > math.MinInt64) || ok && (got != want || rate != best) {
		t.Fatalf("seed %d: widest %d s of %v: %v %d %t, want %v %d", seed, length, w, got, rate, ok, want, best)
	}
}

func compareLacks(t *testing.T, seed uint64, c *Calendar, oracle *seconds, w Window, rate int64, limit Cap) {
	t.Helper()
	var want []reservation
	for s := w.Start; s < w.End; s++ {
		missing := rate - oracle.free(int(s), limit)
		last := len(want) - 1
		switch {
		case missing <= 0:
		case last >= 0 && want[last].End == s:
			want[last].End, want[last].rate = s+1, max(want[last].rate, missing)
		default:
			want = append(want, reservation{Window{s, s + 1}, missing})
		}
	}
	var got []reservation
	for w, missing := range c.Lacks(w, rate, limit) {
		got = append(got, reservation{w, missing})
	}
	if !slices.Equal(got, want) {
		t.Fatalf("seed %d: lacks of %d in %v: %v, want %v", seed, rate, w, got, want)
	}
}

func TestAWindowMayEndAtForeverAndIsNeverEmpty(t *testing.T) {
	p := Path{newCalendar(t, 10, 10)}
	if w, ok := p.NextWindow(5, Forever-5, 1, Soft); !ok || w != (Window{5, Forever}) {
		t.Errorf("until Forever: %v %t", w, ok)
	}
	if w, ok := p.NextWindow(5, Forever-4, 1, Soft); ok {
		t.Errorf("beyond Forever: %v", w)
	}
	if w, ok := p.NextWindow(5, 0, 1, Soft); ok {
		t.Errorf("next window of no length: %v", w)
	}
	if w, _, ok := p.WidestWindow(Window{5, 9}, 0, Soft); ok {
		t.Errorf("widest window of no length: %v", w)
	}
	if w, ok := p.OpenWindow(5, 11, Soft); ok {
		t.Errorf("more than there is, from %v on", w)
	}
}
