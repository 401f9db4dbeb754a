package flowstore

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestOneBadItemFailsAlone: those that were gathered with it are stored.
func TestOneBadItemFailsAlone(t *testing.T) {
	errBad := errors.New("cannot be inserted")
	var stored []string
	c := newCommitter(Configuration{Workers: 3, MaxRows: 100}, func(_ context.Context, items []string) error {
		if slices.Contains(items, "bad") {
			return errBad
		}
		stored = append(stored, items...)
		return nil
	})
	var group []pending[string]
	for _, item := range []string{"one", "bad", "two"} {
		group = append(group, pending[string]{item, 1, make(chan error, 1)})
	}
	c.commit(t.Context(), group)
	for _, p := range group {
		if err := <-p.done; (p.item == "bad") != errors.Is(err, errBad) {
			t.Errorf("%s: %v", p.item, err)
		}
	}
	if !slices.Equal(stored, []string{"one", "two"}) {
		t.Errorf("stored %v, want the two good ones", stored)
	}
}
