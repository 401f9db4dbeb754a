package plane

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/testkit/program"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// Spread waits until every PE has the weights in force, which are those of the reason, made once.
func (w *Work) Spread(t *testing.T, reason string) {
	t.Helper()
	program.Until(t, "weights are spread", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := w.VPN.Weights(ctx, connect.NewRequest(&vpnv1.WeightsRequest{}))
		if err != nil {
			return false, err
		}
		want := r.Msg.GetChange()
		for _, router := range w.Routers {
			if !proto.Equal(router.PE.Has().GetVersion(), want.GetVersion()) {
				return false, []any{router.Name, router.PE.Has().GetVersion(), want.GetVersion()}
			}
		}
		return want.GetReason() == reason, want
	})
	r, err := w.VPN.History(t.Context(), connect.NewRequest(&vpnv1.HistoryRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, c := range r.Msg.GetChanges() {
		if c.GetReason() == reason {
			times++
		}
	}
	if times != 1 {
		t.Errorf("%q is %d times in the history", reason, times)
	}
}
