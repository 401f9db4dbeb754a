package hostadvice

import (
	"math"
	"strings"
	"testing"
)

func TestThresholdsAreThePapers(t *testing.T) {
	// Paper 003, section III-A: N = 1: 3, 2-3: 6, 4-7: 9, 8-15: 12.
	for n, want := range map[int]int{0: 3, 1: 3, 2: 6, 3: 6, 4: 9, 7: 9, 8: 12, 15: 12, 16: 15} {
		if got := Threshold(n); got != want {
			t.Errorf("%d paths: threshold %d, want %d", n, got, want)
		}
		if n > 0 && Threshold(n) != 3*(1+int(math.Floor(math.Log2(float64(n))))) {
			t.Errorf("%d paths: not 3(1 + floor(log2 N))", n)
		}
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name     string
		paths    int
		f        Forwarding
		settings int
		says     string
	}{
		{"one path needs nothing", 1, PerPacket, 0, "one path keeps packets in order"},
		{"hashed flows need nothing on the host", 3, PerFlow, 0, "nothing to set"},
		{"hashed flows need streams: (2/3)^18 < 0.001", 3, PerFlow, 0, "18 parallel streams"},
		{"per-packet load balancing needs patience", 3, PerPacket, 3, "hash flows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := For("198.51.100.0/24", "192.0.2.1", c.paths, c.f)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Settings) != c.settings || !strings.Contains(strings.Join(a.Notes, "\n"), c.says) {
				t.Errorf("settings %v, notes %q; want %d settings and a note with %q", a.Settings, a.Notes, c.settings, c.says)
			}
		})
	}
	a, _ := For("198.51.100.0/24", "192.0.2.1", 5, PerPacket)
	if got := a.Settings[2].Command; got != "ip route replace 198.51.100.0/24 via 192.0.2.1 reordering 9" {
		t.Errorf("route command %q", got)
	}
}

func TestNoAdviceForNonsense(t *testing.T) {
	if _, err := For("198.51.100.0/24", "192.0.2.1", 0, PerFlow); err == nil {
		t.Error("advice for no path")
	}
	if _, err := For("198.51.100.0/24", "192.0.2.1", 2, "both"); err == nil {
		t.Error("advice for an unknown kind of forwarding")
	}
}
