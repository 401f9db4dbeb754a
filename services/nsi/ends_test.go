package nsi

import (
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Where the endpoint ends by itself, the process gets the error: it would stay ready without an endpoint.
func TestTheEndpointEnds(t *testing.T) {
	t.Parallel()
	w, failed := newWorld(t), make(chan error, 1)
	w.failed = func(err error) { failed <- err }
	must(t, w.start().listener.Close())
	if err := await.Value(t, "the error", failed); err == nil {
		t.Error("no error")
	}
}
