package routeragent

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// silent is a stream on which no message comes.
type silent struct{ grpc.ServerStream }

func (silent) RecvMsg(any) error { select {} }

// TestAStreamThatItsClientLeftIsCanceled: calls_total has the code of what RecvMsg returns.
func TestAStreamThatItsClientLeftIsCanceled(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := (&stream{ServerStream: silent{}, ctx: ctx}).RecvMsg(nil); status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
}
