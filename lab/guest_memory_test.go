package lab

import (
	"strings"
	"testing"
)

func TestTheLimitOfAGuestsMemoryIsNamed(t *testing.T) {
	if got := memoryNote("65530\n"); !strings.Contains(got, "255 MiB") || !strings.Contains(got, "vm.max_map_count") {
		t.Errorf("the usual limit: %q", got)
	}
	for _, n := range []string{"1048576", "unreadable"} {
		if got := memoryNote(n); got != "" {
			t.Errorf("%s: %q", n, got)
		}
	}
}
