package rpc

import (
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestOrderOfAddresses(t *testing.T) {
	fails := func(until int) known { return known{failures: 1, until: noon.Add(time.Duration(until) * time.Second)} }
	for name, tt := range map[string]struct {
		of   []known
		want []int
	}{
		"one":                             {[]known{{}}, []int{0}},
		"as they were written":            {[]known{{}, {}, {}}, []int{0, 1, 2}},
		"the first failed":                {[]known{fails(1), {}, {}}, []int{1, 2, 0}},
		"the last failed":                 {[]known{{}, {}, fails(1)}, []int{0, 1, 2}},
		"two failed, the second before":   {[]known{fails(2), {}, fails(1)}, []int{1, 2, 0}},
		"all failed: all are tried":       {[]known{fails(3), fails(1), fails(2)}, []int{1, 2, 0}},
		"one that is asked is tried last": {[]known{{failures: 1, until: noon, asked: true}, {}}, []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := order(tt.of); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPausesGrow(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 1 << 40: 30 * time.Second,
	} {
		if got := pause(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}

// What is known of an address, as calls and questions come back.
func TestWhatIsKnownOfAnAddress(t *testing.T) {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	k := known{}
	if k.due(noon) || !k.doubted(noon) {
		t.Errorf("nothing is known: %+v", k)
	}
	k = k.failed(noon)
	if want := (known{failures: 1, until: at(1)}); k != want || k.doubted(noon) {
		t.Errorf("failed once: %+v", k)
	}
	if together := k.failed(noon.Add(time.Second - 1)); together != k {
		t.Errorf("a call failed together with it: %+v", together)
	}
	if k.due(noon.Add(time.Second-1)) || !k.due(at(1)) {
		t.Error("it is asked again after its pause")
	}
	if k = k.failed(at(1)); k.failures != 2 || k.until != at(3) {
		t.Errorf("failed again: %+v", k)
	}
	k.asked = true
	if k.due(at(9)) {
		t.Error("it is asked twice at once")
	}
	if k = k.answered(); k != (known{asked: true}) || k.doubted(noon) {
		t.Errorf("answered: %+v", k)
	}
}

func TestWhatIsSentAgain(t *testing.T) {
	for _, tt := range []struct{ reached, harmless, whole, want bool }{
		{false, false, true, true},
		{false, true, true, true},
		{true, true, true, true},
		{true, false, true, false},
		{false, false, false, false},
		{true, true, false, false},
	} {
		if got := sends(tt.reached, tt.harmless, tt.whole); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}
