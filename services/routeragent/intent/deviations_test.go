package intent

import "testing"

func TestDeviationsAreOfSupportedPaths(t *testing.T) {
	for _, d := range Deviations() {
		if !Supported[d.Path] || d.What == "" {
			t.Errorf("%s: %q is no deviation of a supported path", d.Path, d.What)
		}
	}
	if n := len(SupportedPaths()); n != len(Supported) {
		t.Errorf("%d paths of %d", n, len(Supported))
	}
}
