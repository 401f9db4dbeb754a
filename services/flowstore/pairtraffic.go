package flowstore

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

//go:embed pairtraffic.sql
var pairTrafficSQL string

// maxTrafficPairs bounds one request.
const maxTrafficPairs = 10_000

// PairTraffic implements FlowStoreService.
func (a *api) PairTraffic(ctx context.Context, req *connect.Request[flowv1.PairTrafficRequest]) (*connect.Response[flowv1.PairTrafficResponse], error) {
	db, err := a.everything()
	if err != nil {
		return nil, err
	}
	m := req.Msg
	q, err := intervalsQuery(&flowv1.IntervalsRequest{From: m.GetFrom(), To: m.GetTo(), Interval: m.GetInterval(), MinBytes: m.GetMinBytes()})
	if err != nil {
		return nil, err
	}
	pairs, err := pairsWithExporters(m.GetPairs())
	if err != nil {
		return nil, err
	}
	found, err := pairTraffic(ctx, db, q, pairs)
	if err != nil {
		return nil, err
	}
	answer := &flowv1.PairTrafficResponse{}
	for _, p := range pairs {
		t := found[p]
		if t == nil {
			t = &flowv1.PairTraffic{}
		}
		answer.Pairs = append(answer.Pairs, t)
	}
	return connect.NewResponse(answer), nil
}

// pairTraffic queries for pairs of equal prefix lengths at once.
func pairTraffic(ctx context.Context, db store.DB, q intervals, pairs []pair) (map[pair]*flowv1.PairTraffic, error) {
	out := make(map[pair]*flowv1.PairTraffic, len(pairs))
	for of, group := range byShape(pairs) {
		for some := range slices.Chunk(group, pairsPerQuery) {
			if err := pairTrafficOf(ctx, db, q, of, some, out); err != nil {
				return nil, fmt.Errorf("what pairs sent: %w", err)
			}
		}
	}
	return out, nil
}

func pairTrafficOf(ctx context.Context, db store.DB, q intervals, of shape, pairs []pair, out map[pair]*flowv1.PairTraffic) error {
	named, tuples, err := namedPairs(pairs)
	if err != nil {
		return err
	}
	rows, err := db.Query(ctx, fmt.Sprintf(pairTrafficSQL, touchesWindow, strings.Join(tuples, ",")),
		q.length.Milliseconds(), q.first, q.last, q.minBytes, of.srcBits, of.dstBits)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e, s, d netip.Addr
		var seen time.Time
		t := &flowv1.PairTraffic{}
		if err := rows.Scan(&e, &s, &d, &t.Bytes, &t.AlphaFlowBytes, &seen); err != nil {
			return err
		}
		t.LastSeen = timestamppb.New(seen)
		out[named[[3]netip.Addr{e.Unmap(), s.Unmap(), d.Unmap()}]] = t
	}
	return rows.Err()
}
