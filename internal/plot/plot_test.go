package plot

import (
	"math"
	"strings"
	"testing"
)

func TestMarksAreReadable(t *testing.T) {
	for most, want := range map[float64]float64{1: 0.2, 5: 1, 9: 2, 24: 5, 50: 10, 152: 20, 169.6: 50} {
		if got := step(most); got != want {
			t.Errorf("marks up to %g stand every %g, want %g", most, got, want)
		}
	}
}

func TestTopHasReadableFourths(t *testing.T) {
	for most, want := range map[float64]float64{63: 80, 2.3: 2.4, 94.8: 100, 0.5: 0.6, 3: 3.2} {
		if got := Top(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("an axis for %g ends at %g, want %g", most, got, want)
		}
	}
}

func TestAxesSayWhatTheyCount(t *testing.T) {
	curve := []Curve{{Name: "a<b", Points: []Point{{1, 2}, {5, 8}}}}
	for _, c := range []struct{ axis, want string }{{"", ">seconds<"}, {"paths", ">paths<"}} {
		if svg := (Plot{Figure: "f", X: c.axis, Curves: curve}).SVG(); !strings.Contains(svg, c.want) || !strings.Contains(svg, "a&lt;b") {
			t.Errorf("axis %q: %s", c.axis, svg)
		}
	}
}
