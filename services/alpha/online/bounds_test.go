package online

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
)

// TestLimitsAreTakenUpToTheLast has each limit at the last value that is valid, and at the first that is not.
func TestLimitsAreTakenUpToTheLast(t *testing.T) {
	rule := detect.DefaultRule() // an interval of a minute
	for _, c := range []struct {
		limits Limits
		valid  bool
	}{
		{Limits{Flows: 256, Horizon: time.Hour}, true},
		{Limits{Flows: 255, Horizon: time.Hour}, false},
		{Limits{Flows: 1 << 22, Horizon: time.Hour}, true},
		{Limits{Flows: 1<<22 + 1, Horizon: time.Hour}, false},
		{Limits{Flows: 256, Horizon: time.Minute}, true},
		{Limits{Flows: 256, Horizon: time.Minute - 1}, false},
		// One more minute is ahead, and one at each end is begun.
		{Limits{Flows: 256, Horizon: 1437 * time.Minute}, true},
		{Limits{Flows: 256, Horizon: 1438 * time.Minute}, false},
	} {
		if err := c.limits.Validate(rule); (err == nil) != c.valid {
			t.Errorf("%+v: %v", c.limits, err)
		}
	}
}

// TestMemoryIsWhatCountersTake: on 64-bit machines a counter has 112 octets, its two places in a map that is half empty
// 62 each, and its place in the heap 4.
func TestMemoryIsWhatCountersTake(t *testing.T) {
	const intervals, flows = 38, 256 // of 10 s: 5 min back, 1 min ahead, and one at each end
	if got, want := testLimits().Memory(testRule()), int64(intervals*flows*(112+2*62+4)+65536*64); got != want {
		t.Errorf("%d octets, want %d", got, want)
	}
}

// record is one without duration.
func record(flow int, bytes uint64, at time.Time) detect.Record {
	return detect.Record{Exporter: wr, Flow: piece(flow, 0).Flow, Start: at, End: at, Bytes: bytes, Packets: 1, SamplingRate: 1}
}

func TestWhatWasTakenIsCounted(t *testing.T) {
	d := New(testRule(), testLimits())
	old := noon.Add(-time.Hour)
	d.Take("a", []detect.Record{record(1, 10, old), record(2, 10, noon), record(3, 10, old), record(4, 10, noon)}, noon)
	d.Take("b", []detect.Record{record(5, 10, noon)}, noon)
	d.Take("a", []detect.Record{record(6, 10, noon)}, noon)
	if got, want := d.Counts(), (Counts{Records: 3, Batches: 2, Repeated: 1, Outside: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestFlowsThatLoseTheirCounterHideNoOthers: of 300 alpha flows in one batch the first 44 lose their counters.
func TestFlowsThatLoseTheirCounterHideNoOthers(t *testing.T) {
	d := New(testRule(), testLimits())
	var records []detect.Record
	for flow := range 300 {
		records = append(records, record(flow, 5000, noon))
	}
	found := d.Take("", records, noon)
	if len(found) != 256 || d.Counts().Displaced != 44 {
		t.Errorf("%d found, %d displaced", len(found), d.Counts().Displaced)
	}
	for _, f := range found {
		if want := uint64(5000); f.Missed != 0 && f.Missed != want {
			t.Errorf("%v: %d missed", f.Evidence.Flow, f.Missed)
		}
	}
}

func TestWhatIsFarFromTheThresholdIsNotSuspected(t *testing.T) {
	d := New(testRule(), testLimits()) // H is 1000
	for _, c := range []struct {
		rate, bytes uint64
		suspect     bool
	}{{0, 1000, false}, {0, 1001, true}, {1, 1000, false}, {1, 1001, true}, {2, 333, false}, {2, 334, true}} {
		if got := d.suspect(&counter{rate: c.rate, bytes: c.bytes}); got != c.suspect {
			t.Errorf("%d bytes sampled 1:%d: %t", c.bytes, c.rate, got)
		}
	}
}

// TestTheEndsOfTheHorizonAreKept: halves of an alpha flow that come one after the other, in the first and in the last
// interval that is summed, and outside of both.
func TestTheEndsOfTheHorizonAreKept(t *testing.T) {
	rule, limits := testRule(), testLimits()
	for at, found := range map[time.Duration]bool{
		-limits.Horizon + time.Second: true, -limits.Horizon - time.Second: false, ahead: true, ahead + time.Second: false,
	} {
		d := New(rule, limits)
		d.Take("", []detect.Record{record(1, 600, noon.Add(at))}, noon)
		if got := d.Take("", []detect.Record{record(1, 600, noon.Add(at))}, noon); (len(got) == 1) != found {
			t.Errorf("%v from now: %d found", at, len(got))
		}
	}
}

// TestIntervalsThatArePastAreForgotten: half of an alpha flow, and the other half when the interval is the oldest that
// is summed, and when it is past.
func TestIntervalsThatArePastAreForgotten(t *testing.T) {
	rule, limits := testRule(), testLimits()
	for after, found := range map[time.Duration]int{0: 1, limits.Horizon: 1, limits.Horizon + rule.Interval: 0} {
		d := New(rule, limits)
		d.Take("", []detect.Record{record(1, 600, noon.Add(time.Second))}, noon)
		if n := len(d.Take("", []detect.Record{record(1, 600, noon.Add(time.Second))}, noon.Add(after))); n != found {
			t.Errorf("%v later: %d found", after, n)
		}
	}
	// A clock that was set back: what lay ahead of it is dropped.
	d := New(rule, limits)
	d.Take("", []detect.Record{record(1, 600, noon)}, noon)
	d.Take("", nil, noon.Add(-ahead))
	if len(d.intervals) != 1 {
		t.Error("the interval that begins as the future does is dropped")
	}
	if d.Take("", nil, noon.Add(-ahead-time.Second)); len(d.intervals) != 0 {
		t.Errorf("%d intervals of the future", len(d.intervals))
	}
}

func TestALowerBoundOfTheThresholdIsNotCertain(t *testing.T) {
	for low, certain := range map[uint64]bool{1000: false, 1001: true} {
		f := Finding{Alpha: true, Low: low, Evidence: detect.Evidence{MinBytes: 1000}}
		if f.Certain() != certain {
			t.Errorf("at least %d: certain %t", low, f.Certain())
		}
	}
	if (Finding{Low: 2000, Evidence: detect.Evidence{MinBytes: 1000}}).Certain() {
		t.Error("what is not alpha is certainly alpha")
	}
}

func TestAPairIsAsCertainAsEitherPartOfIt(t *testing.T) {
	rule := testRule()
	found := New(rule, testLimits()).Take("", []detect.Record{record(1, 5000, noon)}, noon)
	p, began := Next(rule, Pair{}, found[0], noon)
	if !began || !p.Certain {
		t.Fatalf("%+v", p)
	}
	for _, c := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		before, now := p, p
		before.Certain, now.Certain = c[0], c[1]
		before.Missed, now.Missed = 7, 9
		before.Last, now.Last = noon.Add(time.Minute), noon
		got := Join(rule, before, now)
		if got.Certain != (c[0] || c[1]) || got.Missed != 9 || !got.Last.Equal(noon.Add(time.Minute)) {
			t.Errorf("%v: %+v", c, got)
		}
	}
}

func TestTheInterfaceIsThatOfTheFirstLargestPiece(t *testing.T) {
	var c counter
	for i, bytes := range []uint64{100, 200, 200, 50} {
		s := piece(1, bytes)
		s.Flow.InIf = uint32(i + 1)
		c.add(s)
	}
	if c.inIf != 2 || c.largest != 200 || c.bytes != 550 {
		t.Errorf("interface %d, largest %d of %d", c.inIf, c.largest, c.bytes)
	}
}

func TestWhatAFlowSentAtMost(t *testing.T) {
	for _, c := range []struct{ bytes, missed, upper uint64 }{{0, 5, 5}, {5, 0, 5}, {3, 4, 7}, {1 << 63, 1<<63 - 1, 1<<64 - 1}, {1 << 63, 1 << 63, 1<<64 - 1}} {
		if got := (&counter{bytes: c.bytes, missed: c.missed}).upper(); got != c.upper {
			t.Errorf("%d and %d: %d", c.bytes, c.missed, got)
		}
	}
}

// TestTheLeastIsDisplaced: whatever grew, the flow that loses its counter is one that sent least.
func TestTheLeastIsDisplaced(t *testing.T) {
	const room = 31
	table := newTable(room)
	sent := map[int]uint64{}
	for flow := range room {
		sent[flow] = uint64(100 + 37*flow%room)
		table.add(piece(flow, sent[flow]))
	}
	next := room
	for step := range 2000 {
		if step%3 > 0 { // one of those that are there grows
			flow := slices.Sorted(maps.Keys(sent))[step*7%room]
			sent[flow] += uint64(1 + step*13%50)
			table.add(piece(flow, uint64(1+step*13%50)))
			continue
		}
		least := slices.Min(slices.Collect(maps.Values(sent)))
		if got := table.least(); got != least {
			t.Fatalf("step %d: the least is %d, said to be %d", step, least, got)
		}
		c, displaced := table.add(piece(next, 1))
		if !displaced || c.missed != least {
			t.Fatalf("step %d: displaced %t, missed %d, want %d", step, displaced, c.missed, least)
		}
		gone := 0
		for flow := range sent {
			if _, counted := table.get(keyOf(piece(flow, 0))); !counted {
				gone++
				if sent[flow] != least {
					t.Fatalf("step %d: flow %d with %d lost its counter, the least is %d", step, flow, sent[flow], least)
				}
				delete(sent, flow)
			}
		}
		if gone != 1 {
			t.Fatalf("step %d: %d flows lost their counters", step, gone)
		}
		sent[next] = least + 1
		next++
	}
}
