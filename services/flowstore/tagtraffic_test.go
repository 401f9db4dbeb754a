package flowstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/scitags"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// marking is the network whose hosts mark their packets.
var marking = netip.MustParsePrefix("2001:db8:a::/48")

func taggedConfiguration(t *testing.T) Configuration {
	t.Helper()
	cfg := testConfiguration(t.TempDir())
	cfg.SciTags.LabelSources = []string{"2001:db8:c::/48", marking.String()}
	cfg.SciTags.Registry = filepath.Join(t.TempDir(), "api.json")
	registry := `{"version": 1, "experiments": [{"expName": "atlas", "expId": 2, "activities": [{"activityName": "Production Output", "activityId": 16}]}]}`
	if err := os.WriteFile(cfg.SciTags.Registry, []byte(registry), 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// taggedRecords are of a few hosts, of which one marks its packets, in both directions.
func taggedRecords(rng *rand.Rand, n int) []flowrecord.Record {
	records := randomRecords(rng, n)
	for i := range records {
		r := &records[i]
		r.SrcPort = uint16(1 + rng.IntN(10))
		r.Src, r.Dst = netip.MustParseAddr([]string{"2001:db8:a::1", "2001:db8:b::1", "10.0.0.1"}[rng.IntN(3)]), netip.MustParseAddr("2001:db8:9::9")
		if r.Src.Is4() {
			r.Dst = netip.MustParseAddr("10.9.9.9")
		}
		r.FlowLabel = []uint32{0, scitags.Tag{Community: 2, Activity: 16}.Label(rng.Uint32()), scitags.Tag{Community: 3}.Label(rng.Uint32())}[rng.IntN(3)]
		if rng.IntN(2) == 0 {
			r.Src, r.Dst, r.SrcPort, r.DstPort = r.Dst, r.Src, r.DstPort, r.SrcPort
		}
	}
	return records
}

// randomTags are of some records' flows, from either end; no two begin at the same time. Some are said again, and end.
func randomTags(rng *rand.Rand, records []flowrecord.Record, n int) []*flowv1.FlowTag {
	var tags []*flowv1.FlowTag
	for i := range n {
		r := records[rng.IntN(len(records))]
		if rng.IntN(2) == 0 {
			r.Src, r.Dst, r.SrcPort, r.DstPort = r.Dst, r.Src, r.DstPort, r.SrcPort
		}
		start := r.Start.Add(time.Duration(rng.IntN(200)-150)*time.Second + time.Duration(i)*time.Millisecond).Truncate(time.Millisecond)
		tag := &flowv1.FlowTag{
			SrcAddr: r.Src.AsSlice(), DstAddr: r.Dst.AsSlice(), SrcPort: uint32(r.SrcPort), DstPort: uint32(r.DstPort), Protocol: uint32(r.Protocol),
			Start: timestamppb.New(start), Until: timestamppb.New(start), Community: 1 + rng.Uint32N(3), Activity: rng.Uint32N(3), Reporter: []byte{192, 0, 2, 1},
		}
		tags = append(tags, tag)
		if rng.IntN(4) > 0 {
			later := proto.Clone(tag).(*flowv1.FlowTag)
			later.Until, later.Ended = timestamppb.New(start.Add(time.Duration(rng.IntN(300))*time.Second)), rng.IntN(8) > 0
			tags = append(tags, later)
		}
	}
	return tags
}

// slowTag looks through all tags for that of a record.
func slowTag(r flowrecord.Record, tags []*flowv1.FlowTag) (tag scitags.Tag, byFirefly bool) {
	var best *flowv1.FlowTag
	for _, t := range tags {
		src, _ := netip.AddrFromSlice(t.GetSrcAddr())
		dst, _ := netip.AddrFromSlice(t.GetDstAddr())
		a, b := netip.AddrPortFrom(src, uint16(t.GetSrcPort())), netip.AddrPortFrom(dst, uint16(t.GetDstPort()))
		from, to := netip.AddrPortFrom(r.Src, r.SrcPort), netip.AddrPortFrom(r.Dst, r.DstPort)
		if (a != from || b != to) && (a != to || b != from) || t.GetStart().AsTime().Add(-time.Minute).After(r.End) {
			continue
		}
		later := best == nil || t.GetStart().AsTime().After(best.GetStart().AsTime())
		same := best != nil && t.GetStart().AsTime().Equal(best.GetStart().AsTime())
		if later || same && (t.GetEnded() && !best.GetEnded() || t.GetEnded() == best.GetEnded() && t.GetUntil().AsTime().After(best.GetUntil().AsTime())) {
			best = t
		}
	}
	if best != nil {
		holds := 24 * time.Hour
		if best.GetEnded() {
			holds = time.Minute
		}
		if !r.Start.After(best.GetUntil().AsTime().Add(holds)) {
			return scitags.Tag{Community: uint16(best.GetCommunity()), Activity: uint8(best.GetActivity())}, true
		}
	}
	if marking.Contains(r.Src) {
		return scitags.OfLabel(r.FlowLabel), false
	}
	return scitags.Tag{}, false
}

func TestTagTrafficAgreesWithTheSlowOracle(t *testing.T) {
	r := newRig(t, taggedConfiguration(t))
	rng := rand.New(rand.NewPCG(5, 6))
	records := taggedRecords(rng, 2000)
	tags := randomTags(rng, records, 30)
	for _, b := range batches(records, 250) {
		r.deliver(b)
	}
	rng.Shuffle(len(tags), func(i, j int) { tags[i], tags[j] = tags[j], tags[i] })
	for range 2 { // once more, as the bus may
		for some := range slices.Chunk(tags, 7) {
			r.deliver(&flowv1.FlowBatch{Tags: some})
		}
	}
	from, to := day0.Add(3*time.Minute), day0.Add(15*time.Minute)
	names := map[scitags.Tag][2]string{{Community: 2, Activity: 16}: {"atlas", "Production Output"}}

	sums, total, ways := map[string]*flowv1.TagTraffic{}, uint64(0), map[string]int{}
	pairSums := map[[3]string]*flowv1.PairTags{}
	for _, x := range records {
		if x.End.Before(from) || !x.Start.Before(to) {
			continue
		}
		octets := x.Bytes * max(x.SamplingRate, 1)
		bits := 64
		if x.Src.Is4() {
			bits = 24
		}
		src, _ := x.Src.Prefix(bits)
		dst, _ := x.Dst.Prefix(bits)
		key := [3]string{x.Exporter.String(), src.String(), dst.String()}
		if pairSums[key] == nil {
			pairSums[key] = &flowv1.PairTags{}
		}
		pairSums[key].Bytes += octets
		tag, byFirefly := slowTag(x, tags)
		ways[fmt.Sprint(tag != scitags.Tag{}, byFirefly)]++
		started := !x.Start.Before(from)
		if started {
			total += octets
		}
		if tag.Community == 0 {
			continue
		}
		add := func(exporter string, to *flowv1.TagTraffic) *flowv1.TagTraffic {
			if to == nil {
				community, activity := fmt.Sprint(tag.Community), fmt.Sprint(tag.Activity)
				if n, ok := names[tag]; ok {
					community, activity = n[0], n[1]
				} else if tag.Community == 2 {
					community = "atlas"
				}
				to = &flowv1.TagTraffic{Exporter: exporter, Community: uint32(tag.Community), Activity: uint32(tag.Activity), CommunityName: community, ActivityName: activity}
			}
			to.Bytes += octets
			to.Records++
			if byFirefly {
				to.FireflyBytes += octets
			}
			return to
		}
		id := fmt.Sprint(x.Exporter, tag)
		if started {
			sums[id] = add(x.Exporter.String(), sums[id])
		}
		place := slices.IndexFunc(pairSums[key].Tags, func(p *flowv1.TagTraffic) bool {
			return p.GetCommunity() == uint32(tag.Community) && p.GetActivity() == uint32(tag.Activity)
		})
		if place < 0 {
			pairSums[key].Tags = append(pairSums[key].Tags, add("", nil))
		} else {
			add("", pairSums[key].Tags[place])
		}
	}
	if len(ways) != 3 || min(ways["true true"], ways["true false"], ways["false false"]) < 50 {
		t.Errorf("the records do not try everything: %v", ways)
	}
	want := &flowv1.TagTrafficResponse{Bytes: total}
	for _, s := range sums {
		want.Tags = append(want.Tags, s)
	}
	want.Tags = mostFirst(want.GetTags(), maxTags)
	got, err := r.client.TagTraffic(t.Context(), connect.NewRequest(&flowv1.TagTrafficRequest{From: timestamppb.New(from), To: timestamppb.New(to)}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(got.Msg, want, protocmp.Transform()); diff != "" {
		t.Errorf("-got +want\n%.3000s", diff)
	}

	ask := &flowv1.PairTagsRequest{From: timestamppb.New(from), To: timestamppb.New(to)}
	wantPairs := &flowv1.PairTagsResponse{}
	for key, p := range pairSums {
		ask.Pairs = append(ask.Pairs, &flowv1.PrefixPair{Exporter: key[0], Src: key[1], Dst: key[2]})
		p.Tags = mostFirst(p.GetTags(), maxPairTags)
		wantPairs.Pairs = append(wantPairs.Pairs, p)
	}
	ask.Pairs = append(ask.Pairs, &flowv1.PrefixPair{Exporter: "203.0.113.1", Src: "10.0.0.0/24", Dst: "10.9.9.0/24"})
	wantPairs.Pairs = append(wantPairs.Pairs, &flowv1.PairTags{})
	gotPairs, err := r.client.PairTags(t.Context(), connect.NewRequest(ask))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(gotPairs.Msg, wantPairs, protocmp.Transform()); diff != "" {
		t.Errorf("%d pairs (-got +want)\n%.3000s", len(ask.GetPairs()), diff)
	}
}

// TestMillionsOfFireflies fit into the memory of a query that has half of the default.
func TestMillionsOfFireflies(t *testing.T) {
	cfg := taggedConfiguration(t)
	cfg.Store.MaxMemory = 512 << 20
	r := newRig(t, cfg)
	record := taggedRecords(rand.New(rand.NewPCG(9, 10)), 1)[0]
	r.deliver(batch("one", record))
	db, err := (&api{r.comp}).database()
	if err != nil {
		t.Fatal(err)
	}
	const many = `INSERT INTO flow_tags SELECT toIPv6('2001:db8:f::1'), toIPv6('2001:db8:f::2'), number %% 65535, intDiv(number, 65535), 6,
		toDateTime64('%s', 3, 'UTC') AS start, start, 0, 2, 16, '', toIPv6('::'), 0 FROM numbers(%d, 250000)`
	for part := range 8 {
		if err := db.Exec(t.Context(), fmt.Sprintf(many, day0.Format(time.DateTime), part*250_000)); err != nil {
			t.Fatal(err)
		}
	}
	from, to := timestamppb.New(day0), timestamppb.New(day0.Add(time.Hour))
	octets := record.Bytes * max(record.SamplingRate, 1)
	all, err := r.client.TagTraffic(t.Context(), connect.NewRequest(&flowv1.TagTrafficRequest{From: from, To: to}))
	if err != nil || all.Msg.GetBytes() != octets {
		t.Errorf("all flows: %v, %v", all, err)
	}
	src, _ := record.Src.Prefix(24)
	dst, _ := record.Dst.Prefix(24)
	pairs, err := r.client.PairTags(t.Context(), connect.NewRequest(&flowv1.PairTagsRequest{
		From: from, To: to, Pairs: []*flowv1.PrefixPair{{Exporter: record.Exporter.String(), Src: src.String(), Dst: dst.String()}},
	}))
	if err != nil || pairs.Msg.GetPairs()[0].GetBytes() != octets {
		t.Errorf("a pair: %v, %v", pairs, err)
	}
}

// TestThousandsOfPairsFitIntoQueries, with the longest addresses there are.
func TestThousandsOfPairsFitIntoQueries(t *testing.T) {
	r := newRig(t, taggedConfiguration(t))
	ask := &flowv1.PairTagsRequest{From: timestamppb.New(day0), To: timestamppb.New(day0.Add(time.Hour))}
	for i := range 1300 {
		host := func(n int) string { return fmt.Sprintf("2001:1db8:1111:1111:1111:1111:%x:1%03x/128", 0x1000+i, n) }
		ask.Pairs = append(ask.Pairs, &flowv1.PrefixPair{Exporter: "2001:1db8:1111:1111:1111:1111:1111:1111", Src: host(1), Dst: host(2)})
	}
	got, err := r.client.PairTags(t.Context(), connect.NewRequest(ask))
	if err != nil || len(got.Msg.GetPairs()) != len(ask.GetPairs()) {
		t.Error(err)
	}
}

// TestNoSumWraps: one record that claims too much makes a sum the largest there is, and not a small one.
func TestNoSumWraps(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	rng := rand.New(rand.NewPCG(11, 12))
	record := randomRecords(rng, 1)[0]
	record.Bytes, record.SamplingRate = 1<<63, 4
	other := record
	other.SrcPort++
	r.deliver(batch("absurd", record, other))
	tag := randomTags(rng, []flowrecord.Record{record}, 1)[0]
	tag.Start, tag.Until, tag.Ended = timestamppb.New(record.Start), timestamppb.New(record.End), true
	r.deliver(&flowv1.FlowBatch{Tags: []*flowv1.FlowTag{tag}})
	got, err := r.client.TagTraffic(t.Context(), connect.NewRequest(&flowv1.TagTrafficRequest{From: timestamppb.New(day0), To: timestamppb.New(day0.Add(time.Hour))}))
	if err != nil || got.Msg.GetBytes() != math.MaxUint64 || got.Msg.GetTags()[0].GetBytes() != math.MaxUint64 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTagsThatCannotBeAreCounted and left aside; what comes with them is stored.
func TestTagsThatCannotBeAreCounted(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	rng := rand.New(rand.NewPCG(7, 8))
	good := func() *flowv1.FlowTag { return randomTags(rng, randomRecords(rng, 1), 1)[0] }
	bad := []func(*flowv1.FlowTag){
		func(t *flowv1.FlowTag) { t.SrcAddr = nil },
		func(t *flowv1.FlowTag) { t.Reporter = []byte{1} },
		func(t *flowv1.FlowTag) { t.DstPort = 65536 },
		func(t *flowv1.FlowTag) { t.Protocol = 256 },
		func(t *flowv1.FlowTag) { t.Start = nil },
		func(t *flowv1.FlowTag) { t.Until = timestamppb.New(t.GetStart().AsTime().Add(-time.Millisecond)) },
		func(t *flowv1.FlowTag) { t.Community = 0 },
		func(t *flowv1.FlowTag) { t.Community = 512 },
		func(t *flowv1.FlowTag) { t.Activity = 64 },
	}
	b := &flowv1.FlowBatch{Tags: []*flowv1.FlowTag{good()}}
	for _, spoil := range bad {
		tag := good()
		spoil(tag)
		b.Tags = append(b.Tags, tag)
	}
	r.deliver(b)
	db, err := (&api{r.comp}).database()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(t.Context(), "SELECT count() FROM flow_tags")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var n uint64
	if !rows.Next() || rows.Scan(&n) != nil || n != 1 {
		t.Errorf("%d tags were stored, want 1", n)
	}
	if n := testutil.ToFloat64(r.comp.metrics.drops.WithLabelValues(bus.TopicFlows, reasonInvalid)); n != float64(len(bad)) {
		t.Errorf("%v tags were counted as invalid, want %d", n, len(bad))
	}
}

func TestSciTagsConfigurations(t *testing.T) {
	cfg := testConfiguration(t.TempDir())
	for _, network := range []string{"192.0.2.0/24", "2001:db8::1/32", "nonsense"} {
		cfg.SciTags.LabelSources = []string{network}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "want an IPv6 network") {
			t.Errorf("%s: %v", network, err)
		}
	}
	cfg = testConfiguration(t.TempDir())
	cfg.SciTags.Registry = filepath.Join(t.TempDir(), "none")
	if _, err := New(cfg, Dependencies{Log: discard}); err == nil || !strings.Contains(err.Error(), "scitags.org") {
		t.Errorf("a registry that is not there: %v", err)
	}
}
