package gnmi

import (
	"context"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// TestSlowGetsOfOneClientLeaveAPlace: as many as one client may have wait for a router that does not answer, and a Get
// of configuration is answered all the same.
func TestSlowGetsOfOneClientLeaveAPlace(t *testing.T) {
	reading := make(chan struct{}, PerClient)
	s := serverOf(&router{config: queues(t, 1), read: func(ctx context.Context) (*tree.Node, error) {
		reading <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	var stuck sync.WaitGroup
	for range PerClient {
		stuck.Go(func() {
			_, _ = s.Get(ctx, &gnmi.GetRequest{Type: gnmi.GetRequest_STATE, Encoding: gnmi.Encoding_PROTO})
		})
	}
	await.Value(t, "the router is read", reading)
	await.True(t, "all have their places", func() bool { return len(s.building) == PerClient })
	answered := make(chan error, 1)
	go func() {
		_, err := s.Get(ctx, &gnmi.GetRequest{Type: gnmi.GetRequest_CONFIG, Encoding: gnmi.Encoding_PROTO})
		answered <- err
	}()
	if err := await.Value(t, "configuration is read", answered); err != nil {
		t.Error(err)
	}
	cancel()
	stuck.Wait()
}
