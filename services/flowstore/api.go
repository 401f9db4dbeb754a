package flowstore

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// api serves FlowStoreService.
type api struct{ c *Component }

var errNotStarted = connect.NewError(connect.CodeUnavailable, errors.New("the flow store is not started"))

func (a *api) database() (store.DB, error) {
	if db := a.c.db.Load(); db != nil {
		return *db, nil
	}
	return nil, errNotStarted
}

// everything is the database for answers that something is decided by: a nightly run that lacks rows would take pairs
// away, and a circuit's usage would be too low.
func (a *api) everything() (store.DB, error) {
	db, err := a.database()
	return wholeDB{db}, err
}

// wholeDB asks only a server that has every row. Where there is none now, the caller may try again.
type wholeDB struct{ store.DB }

func (w wholeDB) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	rows, err := w.DB.Query(store.Complete(ctx), sql, args...)
	if errors.Is(err, store.ErrBehind) {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return rows, err
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// window checks a request's time range.
func window(from, to *timestamppb.Timestamp) (time.Time, time.Time, error) {
	switch {
	case !from.IsValid() || !to.IsValid():
		return time.Time{}, time.Time{}, invalid("from and to must both be given")
	case !from.AsTime().Before(to.AsTime()):
		return time.Time{}, time.Time{}, invalid("from %s is not before to %s", from.AsTime(), to.AsTime())
	case !storable(from.AsTime(), to.AsTime()):
		return time.Time{}, time.Time{}, invalid("from and to must lie between %s and %s", oldest, newest)
	}
	return from.AsTime(), to.AsTime(), nil
}

// Intervals implements FlowStoreService.
func (a *api) Intervals(ctx context.Context, req *connect.Request[flowv1.IntervalsRequest], out *connect.ServerStream[flowv1.IntervalsResponse]) error {
	db, err := a.everything()
	if err != nil {
		return err
	}
	q, err := intervalsQuery(req.Msg)
	if err != nil {
		return err
	}
	return q.run(ctx, db, func(i interval) error { return out.Send(i.toProto()) })
}

// LastSeen implements FlowStoreService.
func (a *api) LastSeen(ctx context.Context, req *connect.Request[flowv1.LastSeenRequest]) (*connect.Response[flowv1.LastSeenResponse], error) {
	db, err := a.everything()
	if err != nil {
		return nil, err
	}
	pairs := make([]pair, len(req.Msg.GetPairs()))
	for i, p := range req.Msg.GetPairs() {
		if pairs[i], err = parsePair(p); err != nil {
			return nil, err
		}
	}
	since := oldest
	if req.Msg.GetSince() != nil {
		if since = req.Msg.GetSince().AsTime(); !storable(since, since) {
			return nil, invalid("since must lie between %s and %s", oldest, newest)
		}
	}
	seen, err := lastSeen(ctx, db, pairs, since)
	if err != nil {
		return nil, err
	}
	answer := &flowv1.LastSeenResponse{}
	for i, p := range pairs {
		s := &flowv1.PairSeen{Pair: req.Msg.GetPairs()[i]}
		if at, ok := seen[p]; ok {
			s.LastSeen = timestamppb.New(at)
		}
		answer.Pairs = append(answer.Pairs, s)
	}
	return connect.NewResponse(answer), nil
}

func parsePair(p *flowv1.PrefixPair) (pair, error) {
	src, err := netip.ParsePrefix(p.GetSrc())
	if err != nil {
		return pair{}, invalid("source: %w", err)
	}
	dst, err := netip.ParsePrefix(p.GetDst())
	if err != nil {
		return pair{}, invalid("destination: %w", err)
	}
	if src.Addr().Is4() != dst.Addr().Is4() {
		return pair{}, invalid("%s and %s are of different address families", src, dst)
	}
	out := pair{src: src.Masked(), dst: dst.Masked()}
	if p.GetExporter() == "" {
		return out, nil
	}
	if out.exporter, err = netip.ParseAddr(p.GetExporter()); err != nil {
		return pair{}, invalid("exporter: %w", err)
	}
	out.exporter = out.exporter.Unmap()
	return out, nil
}

// pairsWithExporters are a request's.
func pairsWithExporters(all []*flowv1.PrefixPair) ([]pair, error) {
	if n := len(all); n == 0 || n > maxTrafficPairs {
		return nil, invalid("%d pairs asked for; want 1 to %d", n, maxTrafficPairs)
	}
	pairs := make([]pair, len(all))
	for i, p := range all {
		var err error
		if pairs[i], err = parsePair(p); err != nil {
			return nil, err
		}
		if !pairs[i].exporter.IsValid() {
			return nil, invalid("pair %s to %s has no exporter", p.GetSrc(), p.GetDst())
		}
	}
	return pairs, nil
}

// maxTop bounds a ranking's length.
const maxTop = 10_000

// Top implements FlowStoreService.
func (a *api) Top(ctx context.Context, req *connect.Request[flowv1.TopRequest]) (*connect.Response[flowv1.TopResponse], error) {
	db, err := a.database()
	if err != nil {
		return nil, err
	}
	from, to, err := window(req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return nil, err
	}
	lengths, ok := lengthsOf(req.Msg.GetIpv4Length())
	if !ok {
		return nil, invalid("ipv4_length is %d; want 24 or 32", req.Msg.GetIpv4Length())
	}
	if req.Msg.GetLimit() == 0 || req.Msg.GetLimit() > maxTop {
		return nil, invalid("limit is %d; want 1 to %d", req.Msg.GetLimit(), maxTop)
	}
	ranked, err := top(ctx, db, from, to, lengths, int(req.Msg.GetLimit()))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&flowv1.TopResponse{Pairs: ranked}), nil
}

// Telemetry implements FlowStoreService.
func (a *api) Telemetry(ctx context.Context, req *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	db, err := a.database()
	if err != nil {
		return nil, err
	}
	from, to, err := window(req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return nil, err
	}
	series, err := counterSeries(ctx, db, req.Msg.GetDevice(), req.Msg.GetPathPrefix(), from, to)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&flowv1.TelemetryResponse{Series: series}), nil
}
