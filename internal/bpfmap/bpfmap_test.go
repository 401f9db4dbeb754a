package bpfmap

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

func TestAnEmptyCacheIsWaitedForAndNothingElse(t *testing.T) {
	full := fmt.Errorf("update: %w", unix.E2BIG)
	empty := fmt.Errorf("update: %w", unix.ENOMEM)
	for _, c := range []struct {
		name     string
		empty    int // so many times
		progress bool
		then     error
		want     error
	}{
		{"an entry at once", 0, false, nil, nil},
		{"an entry when the cache is refilled", refills, false, nil, nil},
		{"a cache that is never refilled", refills + 1, false, nil, empty},
		{"many entries, some at each refill", 3 * refills, true, nil, nil},
		{"a full map", 2, false, full, full},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := c.empty
				err := patiently(func() (bool, error) {
					if left--; left >= 0 {
						return c.progress, empty
					}
					return true, c.then
				})
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
}
