package apply

import (
	"context"
	"errors"
	"testing"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// A Set that its client has given up while it waited for another is not applied behind the client's back.
func TestAnEditThatWasGivenUpWhileItWaitedIsNotMade(t *testing.T) {
	s := NewStore(Configuration{Dir: t.TempDir()}, &Engine{})
	ctx, leave := context.WithCancel(t.Context())
	s.writer.Lock()
	done := make(chan error)
	go func() {
		done <- s.Edit(ctx, func(*tree.Node) error { return errors.New("the edit was made") }, nil)
	}()
	leave()
	s.writer.Unlock()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Edit ended with %v, want %v", err, context.Canceled)
	}
}
