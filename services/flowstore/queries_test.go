package flowstore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

func prefixPair(r flowrecord.Record, l lengths) pair {
	of := func(a netip.Addr) netip.Prefix {
		bits := l.v6
		if a.Is4() {
			bits = l.v4
		}
		p, _ := a.Prefix(bits)
		return p
	}
	return pair{src: of(r.Src), dst: of(r.Dst)}
}

// oneFamily keeps the records whose addresses are both of one family, as real ones are.
func oneFamily(records []flowrecord.Record) []flowrecord.Record {
	for i := range records {
		if records[i].Dst.Is6() {
			records[i].Src = netip.MustParseAddr("2001:db8:5::1")
		}
	}
	return records
}

func slowTop(records []flowrecord.Record, from, to time.Time, l lengths, limit int) []*flowv1.PairBytes {
	sums := map[pair]*flowv1.PairBytes{}
	for _, r := range records {
		if r.Start.Before(from) || !r.Start.Before(to) {
			continue
		}
		p := prefixPair(r, l)
		if sums[p] == nil {
			sums[p] = &flowv1.PairBytes{Pair: &flowv1.PrefixPair{Src: p.src.String(), Dst: p.dst.String()}}
		}
		sums[p].Bytes += r.Bytes * max(1, r.SamplingRate)
		sums[p].Packets += r.Packets * max(1, r.SamplingRate)
		sums[p].Flows++
	}
	var all []*flowv1.PairBytes
	for _, s := range sums {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *flowv1.PairBytes) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all[:min(limit, len(all))]
}

func TestTopAgreesWithTheSlowOracle(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := oneFamily(randomRecords(rand.New(rand.NewPCG(21, 22)), 2000))
	for _, b := range batches(records, 500) {
		r.deliver(b)
	}
	for _, c := range []struct {
		name     string
		length   uint32
		limit    uint32
		from, to time.Time
	}{
		{"by /24 and /48", 24, 100, day0, day0.Add(time.Hour)},
		{"by /32 and /64", 32, 100, day0, day0.Add(time.Hour)},
		{"the first two", 32, 2, day0, day0.Add(time.Hour)},
		{"two minutes", 24, 100, day0.Add(time.Minute), day0.Add(3 * time.Minute)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.client.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{
				From: timestamppb.New(c.from), To: timestamppb.New(c.to), Ipv4Length: c.length, Limit: c.limit,
			}))
			if err != nil {
				t.Fatal(err)
			}
			l, _ := lengthsOf(c.length)
			if diff := gocmp.Diff(got.Msg.Pairs, slowTop(records, c.from, c.to, l, int(c.limit)), protocmp.Transform()); diff != "" {
				t.Errorf("-got +want\n%s", diff)
			}
		})
	}
}

func TestLastSeenAgreesWithTheSlowOracle(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := oneFamily(randomRecords(rand.New(rand.NewPCG(23, 24)), 1000))
	for _, b := range batches(records, 500) {
		r.deliver(b)
	}
	req := &flowv1.LastSeenRequest{}
	var want []*flowv1.PairSeen
	for _, s := range [][2]string{
		{"10.0.0.0/24", "10.9.9.0/24"}, {"10.0.1.0/24", "10.9.9.0/24"}, {"10.0.0.1/32", "10.9.9.9/32"}, {"10.0.0.0/24", "10.9.9.9/32"},
		{"2001:db8:5::/48", "2001:db8::/48"}, {"192.0.2.0/24", "10.9.9.0/24"}, {"10.9.9.0/24", "10.0.0.0/24"}, {"10.0.0.0/24", "10.9.9.0/24"},
		{"0.0.0.0/0", "0.0.0.0/0"},
	} {
		p := &flowv1.PrefixPair{Src: s[0], Dst: s[1]}
		req.Pairs = append(req.Pairs, p)
		seen := &flowv1.PairSeen{Pair: p}
		src, dst := netip.MustParsePrefix(s[0]), netip.MustParsePrefix(s[1])
		for _, rec := range records {
			if src.Contains(rec.Src) && dst.Contains(rec.Dst) && rec.End.After(seen.LastSeen.AsTime()) {
				seen.LastSeen = timestamppb.New(rec.End)
			}
		}
		want = append(want, seen)
	}
	got, err := r.client.LastSeen(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(got.Msg.Pairs, want, protocmp.Transform()); diff != "" {
		t.Errorf("-got +want\n%s", diff)
	}
}

// TestLastSeenByExporter: what another exporter sees of the same prefixes, at the other end of the network, is none
// of this one's.
func TestLastSeenByExporter(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	at := func(minutes int) time.Time { return day0.Add(time.Duration(minutes) * time.Minute) }
	seen := func(exporter string, end time.Time) flowrecord.Record {
		return flowrecord.Record{
			Exporter: netip.MustParseAddr(exporter), Start: end.Add(-time.Minute), End: end, Bytes: 1, Packets: 1, Source: flowrecord.NetFlowV9,
			Src: netip.MustParseAddr("10.77.1.5"), Dst: netip.MustParseAddr("10.9.9.5"),
		}
	}
	r.deliver(batch("x", seen("192.0.2.1", at(1)), seen("192.0.2.2", at(9)), seen("2001:db8::1", at(5))))
	for _, c := range []struct {
		name, exporter string
		since          time.Time
		want           *timestamppb.Timestamp
	}{
		{"the one that saw it last", "192.0.2.2", time.Time{}, timestamppb.New(at(9))},
		{"one that saw it before", "192.0.2.1", time.Time{}, timestamppb.New(at(1))},
		{"one with an IPv6 address", "2001:db8::1", time.Time{}, timestamppb.New(at(5))},
		{"one that never saw it", "192.0.2.3", time.Time{}, nil},
		{"any", "", time.Time{}, timestamppb.New(at(9))},
		{"since then", "192.0.2.1", at(1), timestamppb.New(at(1))},
		{"not since then", "192.0.2.1", at(2), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &flowv1.PrefixPair{Src: "10.77.1.0/24", Dst: "10.9.9.0/24", Exporter: c.exporter}
			req := &flowv1.LastSeenRequest{Pairs: []*flowv1.PrefixPair{p}}
			if !c.since.IsZero() {
				req.Since = timestamppb.New(c.since)
			}
			got, err := r.client.LastSeen(t.Context(), connect.NewRequest(req))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(got.Msg.Pairs, []*flowv1.PairSeen{{Pair: p, LastSeen: c.want}}, protocmp.Transform()); diff != "" {
				t.Errorf("-got +want\n%s", diff)
			}
		})
	}
}

func TestLastSeenOfMorePairsThanOneStatementHolds(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	req := &flowv1.LastSeenRequest{}
	for i := range 2*pairsPerQuery + 7 {
		req.Pairs = append(req.Pairs, &flowv1.PrefixPair{
			Src: netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}).String() + "/24", Dst: "10.9.9.0/24",
		})
	}
	got, err := r.client.LastSeen(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Msg.Pairs) != len(req.Pairs) {
		t.Errorf("%d answers for %d pairs", len(got.Msg.Pairs), len(req.Pairs))
	}
}

func counters(device string, at time.Time, values map[string]uint64) *telemetryv1.CounterBatch {
	b := &telemetryv1.CounterBatch{BatchId: device + at.String(), Device: device}
	for path, v := range values {
		b.Counters = append(b.Counters, &telemetryv1.Counter{Path: path, Value: v, Time: timestamppb.New(at)})
	}
	return b
}

func TestTelemetryComesBackOnceInOrder(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	const octets, queue = "/interfaces/interface[name=er]/state/counters/out-octets", "/qos/interfaces/x"
	for range 2 { // delivered twice
		for i := range 5 {
			at := day0.Add(time.Duration(i) * time.Second)
			for device, add := range map[string]uint64{"wr": 0, "er": 1000} {
				b := counters(device, at, map[string]uint64{octets: uint64(i)*100 + add, queue: 1})
				if err := r.comp.takeTelemetry(t.Context(), message(t, b)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	got, err := r.client.Telemetry(t.Context(), connect.NewRequest(&flowv1.TelemetryRequest{
		Device: "er", PathPrefix: "/interfaces", From: timestamppb.New(day0.Add(time.Second)), To: timestamppb.New(day0.Add(4 * time.Second)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := &flowv1.TelemetrySeries{Device: "er", Path: octets}
	for i := 1; i < 4; i++ {
		want.Points = append(want.Points, &flowv1.TelemetryPoint{Time: timestamppb.New(day0.Add(time.Duration(i) * time.Second)), Value: uint64(i)*100 + 1000})
	}
	if diff := gocmp.Diff(got.Msg.Series, []*flowv1.TelemetrySeries{want}, protocmp.Transform()); diff != "" {
		t.Errorf("-got +want\n%s", diff)
	}
	all, err := r.client.Telemetry(t.Context(), connect.NewRequest(&flowv1.TelemetryRequest{From: timestamppb.New(day0), To: timestamppb.New(day0.Add(time.Hour))}))
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Msg.Series) != 4 {
		t.Errorf("%d series of all devices and paths, want 4", len(all.Msg.Series))
	}
}

func TestLongSeriesAreThinnedToTheirLastReadings(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	const n = 10_000
	b := &telemetryv1.CounterBatch{BatchId: "x", Device: "wr"}
	for i := range n {
		b.Counters = append(b.Counters, &telemetryv1.Counter{Path: "/p", Value: uint64(i), Time: timestamppb.New(day0.Add(time.Duration(i) * time.Second))})
	}
	if err := r.comp.takeTelemetry(t.Context(), message(t, b)); err != nil {
		t.Fatal(err)
	}
	got, err := r.client.Telemetry(t.Context(), connect.NewRequest(&flowv1.TelemetryRequest{From: timestamppb.New(day0), To: timestamppb.New(day0.Add(n * time.Second))}))
	if err != nil {
		t.Fatal(err)
	}
	points := got.Msg.Series[0].Points
	if len(points) < maxPoints/2 || len(points) > maxPoints+2 || points[len(points)-1].Value != n-1 {
		t.Errorf("%d points, the last %v; want about %d, the last of value %d", len(points), points[len(points)-1], maxPoints, n-1)
	}
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	from, to := timestamppb.New(day0), timestamppb.New(day0.Add(time.Hour))
	minute := durationpb.New(time.Minute)
	ask := func(req *flowv1.IntervalsRequest) error {
		stream, err := r.client.Intervals(t.Context(), connect.NewRequest(req))
		if err != nil {
			return err
		}
		defer stream.Close()
		stream.Receive()
		return stream.Err()
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no from", ask(&flowv1.IntervalsRequest{To: to, Interval: minute}), "must both be given"},
		{"to before from", ask(&flowv1.IntervalsRequest{From: to, To: from, Interval: minute}), "is not before"},
		{"no interval", ask(&flowv1.IntervalsRequest{From: from, To: to}), "1s to 24h"},
		{"a century of seconds", ask(&flowv1.IntervalsRequest{
			From: timestamppb.New(time.Unix(1e8, 0)), To: timestamppb.New(time.Unix(3e9, 0)), Interval: durationpb.New(time.Second),
		}), "intervals asked for"},
		{"a prefix length nobody uses", func() error {
			_, err := r.client.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{From: from, To: to, Ipv4Length: 20, Limit: 1}))
			return err
		}(), "want 24 or 32"},
		{"no limit", func() error {
			_, err := r.client.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{From: from, To: to, Ipv4Length: 24}))
			return err
		}(), "limit"},
		{"a pair of two families", func() error {
			_, err := r.client.LastSeen(t.Context(), connect.NewRequest(&flowv1.LastSeenRequest{Pairs: []*flowv1.PrefixPair{{Src: "10.0.0.0/8", Dst: "::/0"}}}))
			return err
		}(), "different address families"},
		{"a pair that is no prefix", func() error {
			_, err := r.client.LastSeen(t.Context(), connect.NewRequest(&flowv1.LastSeenRequest{Pairs: []*flowv1.PrefixPair{{Src: "x", Dst: "::/0"}}}))
			return err
		}(), "source"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if connect.CodeOf(c.err) != connect.CodeInvalidArgument || !strings.Contains(c.err.Error(), c.want) {
				t.Errorf("error is %v, want invalid argument with %q", c.err, c.want)
			}
		})
	}
}

func TestCallsBeforeStartAreUnavailable(t *testing.T) {
	c, err := New(DefaultConfiguration(t.TempDir()), Dependencies{Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{c}
	if _, err := a.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("error is %v, want unavailable", err)
	}
}

func TestMigrationsRunOnceAndRefuseTheFuture(t *testing.T) {
	dir := t.TempDir()
	files, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, testConfiguration(dir))
	if n := r.count("SELECT count() FROM migrations"); n != uint64(len(files)) {
		t.Errorf("%d migrations noted, want one per file: %d", n, len(files))
	}
	r.stop()
	r = newRig(t, testConfiguration(dir))
	if n := r.count("SELECT count() FROM migrations"); n != uint64(len(files)) {
		t.Errorf("%d migrations noted after a restart, want %d", n, len(files))
	}
	db := *r.comp.db.Load()
	if err := db.Insert(t.Context(), store.Batch{Table: "migrations", Columns: []store.Column{
		{Name: "version", Type: "UInt32", Values: []uint32{99}},
	}}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	c, err := New(testConfiguration(dir), Dependencies{Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Start(context.Background())
	if err == nil || !strings.Contains(err.Error(), "run a newer millrace") {
		t.Errorf("error is %v, want a refusal of schema 99", err)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Configuration)
	}{
		{"negative retention", func(c *Configuration) { c.Retention = -time.Hour }},
		{"retention of a fraction of a second", func(c *Configuration) { c.Retention = time.Millisecond }},
		{"no workers", func(c *Configuration) { c.Workers = 0 }},
		{"inserts that would not be atomic", func(c *Configuration) { c.MaxRows = 2_000_000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfiguration(t.TempDir())
			c.change(&cfg)
			if _, err := New(cfg, Dependencies{Log: discard}); err == nil {
				t.Error("New took it")
			}
		})
	}
}

// An answer is bounded whatever is asked for: many series are thinned further, and too many are refused.
func TestAnswersOfSeriesAreBounded(t *testing.T) {
	for series, want := range map[uint64]int64{0: 1800, 1: 1800, maxAnswer / maxPoints: 1800, 2 * maxAnswer / maxPoints: 3600, maxSeries: 360_000} {
		if step, err := stepOf(series, time.Hour); err != nil || step != want {
			t.Errorf("%d series: steps of %d ms, %v, want %d", series, step, err, want)
		}
	}
	r := newRig(t, testConfiguration(t.TempDir()))
	const n = 200_000
	var some []counter
	var samples vpnSamples
	for i := range n {
		some = append(some, counter{device: "wr", path: fmt.Sprintf("/p/%d", i), value: 1, at: day0})
		samples.flows = append(samples.flows, vpnSample{vpn: fmt.Sprint(i % 7), ingress: fmt.Sprint(i), egress: "10.255.0.2"})
	}
	samples.at = day0
	db, metrics := *r.comp.db.Load(), newMetrics(nil)
	if err := (&telemetryWriter{db, metrics}).insert(t.Context(), [][]counter{some}); err != nil {
		t.Fatal(err)
	}
	if err := (&vpnWriter{db, metrics}).insert(t.Context(), []vpnSamples{samples}); err != nil {
		t.Fatal(err)
	}
	from, to := timestamppb.New(day0), timestamppb.New(day0.Add(time.Minute))
	all, err := r.client.Telemetry(t.Context(), connect.NewRequest(&flowv1.TelemetryRequest{From: from, To: to}))
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("%d series: %d of them, %v, want RESOURCE_EXHAUSTED", n, len(all.Msg.GetSeries()), err)
	}
	flows, err := r.client.VpnSeries(t.Context(), connect.NewRequest(&flowv1.VpnSeriesRequest{From: from, To: to}))
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("%d VPN flows: %d of them, %v, want RESOURCE_EXHAUSTED", n, len(flows.Msg.GetFlows()), err)
	}
	most, err := r.client.VpnSeries(t.Context(), connect.NewRequest(&flowv1.VpnSeriesRequest{From: from, To: to, Limit: 3}))
	if err != nil || len(most.Msg.GetFlows()) != 3 {
		t.Errorf("the three that sent most: %v, %v", most, err)
	}
}
