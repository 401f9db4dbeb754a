package alpha

import (
	"context"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/months"
	"github.com/millrace/millrace/internal/testkit/await"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// counted is the flow store, and how often each day's flows were read for their sums.
type counted struct {
	flowv1connect.FlowStoreServiceClient
	days map[time.Time]int
}

func (c *counted) Intervals(ctx context.Context, req *connect.Request[flowv1.IntervalsRequest]) (*connect.ServerStreamForClient[flowv1.IntervalsResponse], error) {
	c.days[req.Msg.GetFrom().AsTime()]++
	return c.FlowStoreServiceClient.Intervals(ctx, req)
}

// withMonths puts generated months into a real flow store, and sets the clock to six hours after their end.
func withMonths(t *testing.T, r *rig, days int) (months.Traffic, *counted) {
	t.Helper()
	p := months.Defaults()
	p.Days = days
	traffic, err := months.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	b := bus.NewMemory()
	t.Cleanup(func() { b.Close() })
	client := realStore(t, b)
	for _, batch := range traffic.Batches(p.Name(), 5000) {
		if err := b.Publish(t.Context(), bus.TopicFlows, wr, batch); err != nil {
			t.Fatal(err)
		}
	}
	await.True(t, "the flow store has the months", func() bool { return stored(t, client, p.From) == len(traffic.Records) })
	reads := &counted{client, map[time.Time]int{}}
	r.c.deps.FlowStore = reads
	r.now = traffic.End.Add(6 * time.Hour)
	return traffic, reads
}

// stored is how many records the store has from then on.
func stored(t *testing.T, client flowv1connect.FlowStoreServiceClient, from time.Time) int {
	t.Helper()
	top, err := client.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(from), To: timestamppb.New(from.AddDate(1, 0, 0)), Ipv4Length: 24, Limit: 10_000,
	}))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range top.Msg.GetPairs() {
		n += int(p.GetFlows())
	}
	return n
}

func (r *rig) replay(t *testing.T, req *alphav1.ReplayRequest) []*alphav1.ReplayResponse {
	t.Helper()
	stream, err := r.client.Replay(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var out []*alphav1.ReplayResponse
	for stream.Receive() {
		out = append(out, proto.CloneOf(stream.Msg()))
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// The truth of generated months: every number of a replay and of effectiveness is that of a walk over all records
// with maps, and every pair that is known is one of the truth.
func TestReplayAndEffectivenessHaveTheTruth(t *testing.T) {
	r := newRig(t, nil)
	const age = 5 * day
	r.c.cfg.Rule.AgeAfter = age
	traffic, reads := withMonths(t, r, 14)
	first := midnight(traffic.Records[0].Start)
	oracle := map[int][]months.Day{24: traffic.Oracle(24, age), 32: traffic.Oracle(32, age)}

	t.Run("replay", func(t *testing.T) {
		lengths := []int{24, 32}
		nightlyRuns := r.replay(t, &alphav1.ReplayRequest{
			From: timestamppb.New(first), WarmUp: durationpb.New(0),
			Rules: []*alphav1.ReplayRule{{Ipv4Length: proto.Uint32(24)}, {Ipv4Length: proto.Uint32(32)}},
		})
		if len(nightlyRuns) != 2*14 {
			t.Fatalf("%d nightly runs, want 14 under each of two rules", len(nightlyRuns))
		}
		aged := 0
		for i, n := range nightlyRuns {
			want := oracle[lengths[i%2]][i/2]
			got := months.Day{
				Date: n.GetDay().AsTime(), Known: int(n.GetPairs()), Added: int(n.GetAdded()), AgedOut: int(n.GetAgedOut()),
				Bytes: n.GetAlphaBytes(), Caught: n.GetCaughtBytes(), Redirected: n.GetRedirectedBytes(), False: n.GetFalselyRedirectedBytes(),
			}
			if diff := cmp.Diff(got, want); diff != "" || int(n.GetRule()) != i%2 || n.GetRefusedExporters() != 0 {
				t.Errorf("rule %d (-got +want):\n%s", n.GetRule(), diff)
			}
			aged += want.AgedOut
		}
		if aged == 0 {
			t.Error("no pair aged out in the months: the test shows less than it says")
		}
		for at, n := range reads.days {
			if n != 1 {
				t.Errorf("the flows of %s were summed %d times for two rules of one interval", at, n)
			}
		}
	})
	t.Run("effectiveness", func(t *testing.T) {
		clear(reads.days)
		end := r.now
		r.now = end.Add(-3 * day)
		if got := r.effectiveness(t, false); len(got) != 11 {
			t.Errorf("%d days before the last three, want 11", len(got))
		}
		r.now = end
		if got := r.effectiveness(t, true); len(got) != 11 {
			t.Errorf("%d days are stored, want 11", len(got))
		}
		got := r.effectiveness(t, false)
		var want []*alphav1.EffectivenessDay
		for i, d := range oracle[24] {
			e := oracle[32][i]
			want = append(want, &alphav1.EffectivenessDay{
				Day: timestamppb.New(d.Date), AlphaBytes: d.Bytes, Caught_24Bytes: d.Caught, Caught_32Bytes: e.Caught,
				Pairs_24: uint32(d.Known), Pairs_32: uint32(e.Known),
			})
		}
		if diff := cmp.Diff(got, want, protocmp.Transform()); diff != "" {
			t.Errorf("-got +want:\n%.3000s", diff)
		}
		r.effectiveness(t, false)
		for at, n := range reads.days {
			if n != 1 {
				t.Errorf("the flows of %s were summed %d times", at, n)
			}
		}
		r.c.cfg.Rule.MinBytes++
		if got := r.effectiveness(t, true); len(got) != 0 {
			t.Errorf("%d days are stored under another rule", len(got))
		}
	})
	t.Run("precision and recall", func(t *testing.T) { r.precision(t, traffic) })
}

func (r *rig) effectiveness(t *testing.T, storedOnly bool) []*alphav1.EffectivenessDay {
	t.Helper()
	out, err := r.client.Effectiveness(t.Context(), connect.NewRequest(&alphav1.EffectivenessRequest{StoredOnly: storedOnly}))
	if err != nil {
		t.Fatal(err)
	}
	return out.Msg.GetDays()
}

// precision: a nightly run over all the months finds the pairs of the truth, all of them and no other.
func (r *rig) precision(t *testing.T, traffic months.Traffic) {
	r.c.cfg.Rule.MinBytes, r.c.cfg.Rule.AgeAfter = 1e9, 30*day
	for _, length := range []int{24, 32} {
		truth := map[string]bool{}
		for _, b := range traffic.Bursts {
			if b.Start.Before(traffic.End) {
				p := months.PairOf(b.Exporter, b.Src, b.Dst, length)
				truth[p.Exporter.String()+" "+p.Src.String()+" "+p.Dst.String()] = true
			}
		}
		out := r.nightly(t, &alphav1.NightlyRequest{
			From: timestamppb.New(traffic.Records[0].Start.Truncate(day)), To: timestamppb.New(traffic.End), Ipv4Length: proto.Uint32(uint32(length)), DryRun: true,
		})
		found := endsOf(out.GetAdded())
		wrong := slices.DeleteFunc(slices.Clone(found), func(p string) bool { return truth[p] })
		if len(wrong) > 0 || len(found) != len(truth) {
			t.Errorf("/%d: %d pairs found of %d, and %d that are none: %v", length, len(found)-len(wrong), len(truth), len(wrong), wrong)
		}
		t.Logf("/%d: %d pairs, precision %d/%d, recall %d/%d", length, len(truth), len(found)-len(wrong), len(found), len(found)-len(wrong), len(truth))
	}
}

func TestReplaysThatAreRefused(t *testing.T) {
	r := newRig(t, nil)
	for name, req := range map[string]*alphav1.ReplayRequest{
		"the future":        {To: timestamppb.New(r.now.Add(3 * day))},
		"no day":            {From: timestamppb.New(r.now), To: timestamppb.New(r.now)},
		"years":             {From: timestamppb.New(r.now.Add(-1000 * day))},
		"centuries":         {From: timestamppb.New(r.now.AddDate(-1000, 0, 0))},
		"a long warm-up":    {WarmUp: &durationpb.Duration{Seconds: 300 * 366 * 24 * 3600}},
		"negative warm-up":  {WarmUp: durationpb.New(-time.Hour)},
		"a /16":             {Rules: []*alphav1.ReplayRule{{Ipv4Length: proto.Uint32(16)}}},
		"too many rules":    {Rules: make([]*alphav1.ReplayRule, 9)},
		"interval too long": {Rules: []*alphav1.ReplayRule{{Interval: durationpb.New(2 * day)}}},
	} {
		stream, err := r.client.Replay(t.Context(), connect.NewRequest(req))
		if err != nil {
			t.Fatal(err)
		}
		for stream.Receive() {
		}
		if err := stream.Err(); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v, want INVALID_ARGUMENT", name, err)
		}
		stream.Close()
	}
}
