package circuits

import (
	"cmp"
	"context"
	"math/big"
	"time"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
)

// Quota implements CircuitsService.
func (a *api) Quota(_ context.Context, r *connect.Request[circuitsv1.QuotaRequest]) (out *connect.Response[circuitsv1.QuotaResponse], err error) {
	name := r.Msg.GetProject()
	p, known := a.c.cfg.Projects[name]
	if !known {
		return nil, noProject(name)
	}
	looked := a.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		out = connect.NewResponse(a.c.book.quota(name, p, a.c.deps.Now()))
	})
	if looked != nil {
		return nil, answer(looked)
	}
	return out, nil
}

// quota is what a project may have, and what it has from now on.
func (b *book) quota(name string, p Project, now time.Time) *circuitsv1.QuotaResponse {
	u := b.of(name)
	booked, _ := new(big.Rat).SetFrac(u.bits, big.NewInt(giga*hour)).Float64()
	out := &circuitsv1.QuotaResponse{
		Project: name, LimitBitsPerSecond: p.ConcurrentMbit * mega, LimitGbitHours: float64(p.GbitHours), BookedGbitHours: booked,
		HighestBitsPerSecond: calendar.MaxRate - u.concurrent.LeastFree(calendar.Window{Start: now.Unix(), End: calendar.Forever}, calendar.Hard),
		LimitHolds:           int32(cmp.Or(p.Holds, defaultHolds)), Held: int32(u.held), LimitLeadSeconds: int64(p.Lead / time.Second),
		FirstPriority: p.Priority, FirstSetupPriority: int32(p.setupPriority()), Circuits: int32(u.circuits),
	}
	for _, e := range p.Between {
		out.Between = append(out.Between, &circuitsv1.RouterPair{A: e.A, Z: e.Z})
	}
	return out
}
