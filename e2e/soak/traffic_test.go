package soak

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// truth is every flow that was taken: published on the bus, or answered by the collector.
type truth struct {
	mu    sync.Mutex
	pairs map[pair]sum
	flows uint64
	// huge are the alpha flows by their end.
	huge map[pair]time.Time
	// weights are the changes that were requested, by reason, and whether they were answered.
	weights map[string]bool
}

// pair of /24s, or of hosts.
type pair struct{ src, dst string }

type sum struct{ octets, flows uint64 }

func (t *truth) taken(records []*flowv1.FlowRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pairs == nil {
		t.pairs, t.huge = map[pair]sum{}, map[pair]time.Time{}
	}
	for _, r := range records {
		p := pairOf(r, 24)
		s := t.pairs[p]
		t.pairs[p] = sum{s.octets + r.GetBytes(), s.flows + 1}
		t.flows++
		if r.GetBytes() >= alphaOctets {
			t.huge[pairOf(r, 32)] = r.GetEnd().AsTime()
		}
	}
}

func (t *truth) count() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flows
}

func pairOf(r *flowv1.FlowRecord, length int) pair {
	at := func(raw []byte) string {
		a, _ := netip.AddrFromSlice(raw)
		return netip.PrefixFrom(a, length).Masked().String()
	}
	return pair{at(r.GetSrcAddr()), at(r.GetDstAddr())}
}

var (
	// wr is an exporter of WR, of which the collector counts how complete its export is.
	wr = netip.MustParseAddr("192.0.2.1")
	// other is one whose flows are small, and come by the bus alone.
	other = netip.MustParseAddr("192.0.2.11")
)

// alphaOctets in one flow are over the rule's limit even where an interval has only a part of it.
const alphaOctets = 4_000_000_000

// flow is the n-th of a source of flows, and no two of them have the same size.
func flow(exporter netip.Addr, n, port int, octets uint64) *flowv1.FlowRecord {
	end := time.Now().Add(-10 * time.Second).Truncate(time.Millisecond)
	return &flowv1.FlowRecord{
		Exporter: exporter.AsSlice(), Start: timestamppb.New(end.Add(-20 * time.Second)), End: timestamppb.New(end),
		SrcAddr: netip.AddrFrom4([4]byte{10, 3, exporter.As4()[3], 5}).AsSlice(), DstAddr: netip.AddrFrom4([4]byte{10, 4 + byte(n>>8), byte(n), 9}).AsSlice(),
		SrcPort: uint32(port), DstPort: 443, Protocol: 6, InIf: 3, Bytes: octets, Packets: octets/1500 + 1, SamplingRate: 1, Source: flowv1.Source_SOURCE_NFCAPD,
	}
}

// batchRecords are in one message on the bus.
const batchRecords = 20

// sendFlows publishes a batch as a collector does: with the same id until the bus has taken it.
func (w *world) sendFlows(ctx context.Context, n int) {
	batch := &flowv1.FlowBatch{BatchId: fmt.Sprint("bus-", n)}
	for i := range batchRecords {
		batch.Records = append(batch.Records, flow(other, n/60, 1024+i, uint64(1000+n*batchRecords+i)))
	}
	ok := until(ctx, func() bool {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return w.bus.Publish(ctx, bus.TopicFlows, other.String(), batch) == nil
	})
	if ok {
		w.truth.taken(batch.GetRecords())
	}
}

// importFlows sends a batch as `millrace flows import` does, again and again until it is answered.
func (w *world) importFlows(ctx context.Context, n int) {
	w.importBatch(ctx, &flowv1.FlowBatch{
		BatchId: fmt.Sprint("import-", n), Records: []*flowv1.FlowRecord{flow(wr, n/60, 2048+n%60, uint64(500+n))},
	})
}

func (w *world) importBatch(ctx context.Context, batch *flowv1.FlowBatch) {
	ok := until(ctx, func() bool {
		return w.diary.try(ctx, anImport, func(ctx context.Context) error {
			stream := w.files.Import(ctx)
			if err := stream.Send(&flowv1.ImportRequest{Batch: batch}); err != nil {
				_, closed := stream.CloseAndReceive() // the reason why the stream ended
				return errors.Join(err, closed)
			}
			_, err := stream.CloseAndReceive()
			return err
		})
	})
	if ok {
		w.truth.taken(batch.GetRecords())
	}
}

// sendAlpha imports the one flow of a nightly run that is alpha, between hosts that have no pair yet.
func (w *world) sendAlpha(ctx context.Context, n int) {
	r := flow(wr, 0, 40000, alphaOctets+uint64(n))
	r.SrcAddr, r.DstAddr = []byte{10, 1, 0, byte(5 + n%200)}, []byte{10, 2, 0, byte(9 + n/200)}
	w.importBatch(ctx, &flowv1.FlowBatch{BatchId: fmt.Sprint("alpha-", n), Records: []*flowv1.FlowRecord{r}})
}

// mostPairs are requested at a time; an hour has about seventy (sendFlows has a new one each minute).
const mostPairs = 1000

// stored is what the store has of all flows of the run, hour by hour: a ranking is cut off, and a run is long.
func (w *world) stored(ctx context.Context) (map[pair]sum, uint64, error) {
	out, flows := map[pair]sum{}, uint64(0)
	for _, h := range hours(w.begin.Add(-time.Hour), time.Now().Add(time.Hour)) {
		pairs, err := w.storedIn(ctx, h)
		if err != nil {
			return nil, 0, err
		}
		for _, p := range pairs {
			k := pair{p.GetPair().GetSrc(), p.GetPair().GetDst()}
			out[k] = sum{out[k].octets + p.GetBytes(), out[k].flows + p.GetFlows()}
			flows += p.GetFlows()
		}
	}
	return out, flows, nil
}

func (w *world) storedIn(ctx context.Context, h hour) ([]*flowv1.PairBytes, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := w.store.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(h.from), To: timestamppb.New(h.to), Ipv4Length: 24, Limit: mostPairs,
	}))
	if err == nil && len(r.Msg.GetPairs()) == mostPairs {
		err = fmt.Errorf("an hour from %s has more pairs than are requested", h.from)
	}
	if err != nil {
		return nil, err
	}
	return r.Msg.GetPairs(), nil
}

// hour is a part of a run, from included and to not.
type hour struct{ from, to time.Time }

func hours(from, to time.Time) (out []hour) {
	for ; from.Before(to); from = from.Add(time.Hour) {
		end := from.Add(time.Hour)
		if to.Before(end) {
			end = to
		}
		out = append(out, hour{from, end})
	}
	return out
}

func TestHours(t *testing.T) {
	from := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for length, want := range map[time.Duration]int{0: 0, time.Minute: 1, time.Hour: 1, time.Hour + 1: 2, 100 * time.Hour: 100} {
		next := from
		parts := hours(from, from.Add(length))
		for _, h := range parts {
			if !h.from.Equal(next) || h.to.Sub(h.from) > time.Hour {
				t.Errorf("%s: from %s to %s after %s", length, h.from, h.to, next)
			}
			next = h.to
		}
		if len(parts) != want || !next.Equal(from.Add(length)) {
			t.Errorf("%s has %d parts until %s", length, len(parts), next)
		}
	}
}
