package rights

import (
	"strings"
	"testing"
)

func TestNamesOfPeople(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, want := range map[string]bool{
		"a": true, "7": true, "ann.b_c@example.net": true, "x+y-z": true, long: true,
		"": false, long + "a": false, "-a": false, "@a": false, "a b": false, "a/b": false, "ä": false, "a\n": false,
	} {
		if IsName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
