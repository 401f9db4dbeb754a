package intent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPlanKnowsWhatItWasCompiledWith(t *testing.T) {
	p, err := Compile(config(t, `"interface":"ge-a"`, `"interface":"ge-z"`), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Seen{"ge-b": {true, 100e6}, "ge-z": {}}, p.Seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		has  Hardware
		want string // empty: it is up to date
	}{
		"nothing has changed": {hardware, ""},
		"another speed": {func(name string) (Interface, bool) {
			i, ok := hardware(name)
			i.Speed /= 10
			return i, ok
		}, "ge-b has a speed of 10000000"},
		"another buffer alone": {func(name string) (Interface, bool) {
			i, ok := hardware(name)
			i.Buffer++
			return i, ok
		}, ""},
		"a port went": {without("ge-b"), "ge-b is gone"},
		"a port came": {func(name string) (Interface, bool) {
			i, _ := hardware(name)
			return i, true
		}, "ge-z has come"},
	} {
		if err := p.Outdated(c.has); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
