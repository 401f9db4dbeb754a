package soak

import (
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// changeWeights makes a change that no other makes. One without an answer may have been made.
func (w *world) changeWeights(ctx context.Context, n int) {
	reason := fmt.Sprint("change ", n)
	ok := w.diary.try(ctx, aWeight, func(ctx context.Context) error {
		_, err := w.vpn.SetWeights(ctx, connect.NewRequest(&vpnv1.SetWeightsRequest{
			Weights: []*vpnv1.Weight{{Vpn: "red", Weight: float64(1 + n%1000)}}, By: "operator", Reason: reason,
		}))
		return err
	})
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	if w.truth.weights == nil {
		w.truth.weights = map[string]bool{}
	}
	w.truth.weights[reason] = ok
}

// spread reports whether every PE has the weights in force.
func (w *world) spread(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := w.vpn.Weights(ctx, connect.NewRequest(&vpnv1.WeightsRequest{}))
	if err != nil {
		return false
	}
	want := r.Msg.GetChange()
	for _, router := range w.Routers {
		has := router.PE.Has()
		if !proto.Equal(has.GetVersion(), want.GetVersion()) || !slices.EqualFunc(has.GetWeights(), want.GetWeights(), equalWeights) {
			return false
		}
	}
	return want != nil
}

func equalWeights(a, b *vpnv1.Weight) bool { return proto.Equal(a, b) }
