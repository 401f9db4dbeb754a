package flowstore

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// slowTraffic walks over every record and every interval it touches, for one pair.
func slowTraffic(records []flowrecord.Record, exporter netip.Addr, src, dst netip.Prefix, from, to time.Time, length time.Duration, minBytes uint64) *flowv1.PairTraffic {
	perFlow := map[oracleKey]map[int64]uint64{}
	out := &flowv1.PairTraffic{}
	var last time.Time
	for _, r := range records {
		if r.Exporter != exporter || !src.Contains(r.Src) || !dst.Contains(r.Dst) {
			continue
		}
		key := oracleKey{0, r.Exporter, r.Src, r.Dst, r.SrcPort, r.DstPort, r.Protocol}
		for slot := r.Start.UnixMilli() / length.Milliseconds(); ; slot++ {
			begin := time.UnixMilli(slot * length.Milliseconds())
			if begin.After(r.Start) && !begin.Before(r.End) {
				break
			}
			if begin.Before(from) || !begin.Before(to) {
				continue
			}
			if perFlow[key] == nil {
				perFlow[key] = map[int64]uint64{}
			}
			if r.End.After(last) {
				last = r.End
			}
			perFlow[key][slot] += share(r, r.Bytes, begin, begin.Add(length))
		}
	}
	for _, slots := range perFlow {
		all, alpha := uint64(0), false
		for _, n := range slots {
			all, alpha = all+n, alpha || n > minBytes
		}
		out.Bytes += all
		if alpha {
			out.AlphaFlowBytes += all
		}
	}
	if last.After(to) {
		last = to
	}
	if !last.IsZero() {
		out.LastSeen = timestamppb.New(last)
	}
	return out
}

func TestPairTrafficAgreesWithTheSlowOracle(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := randomRecords(rand.New(rand.NewPCG(3, 4)), 2000)
	for _, b := range batches(records, 250) {
		r.deliver(b)
	}
	req := &flowv1.PairTrafficRequest{
		From: timestamppb.New(day0.Add(3 * time.Minute)), To: timestamppb.New(day0.Add(12 * time.Minute)),
		Interval: durationpb.New(time.Minute), MinBytes: 50e9,
	}
	seen := map[string]bool{}
	var want []*flowv1.PairTraffic
	ask := func(exporter netip.Addr, src, dst netip.Prefix) {
		key := exporter.String() + src.String() + dst.String()
		if seen[key] || src.Addr().Is4() != dst.Addr().Is4() {
			return
		}
		seen[key] = true
		req.Pairs = append(req.Pairs, &flowv1.PrefixPair{Exporter: exporter.String(), Src: src.String(), Dst: dst.String()})
		want = append(want, slowTraffic(records, exporter, src, dst, req.From.AsTime(), req.To.AsTime(), time.Minute, req.MinBytes))
	}
	for _, x := range records[:200] {
		for _, v4 := range []int{24, 32} {
			bits := v4
			if x.Src.Is6() {
				bits = 2 * v4
			}
			src, _ := x.Src.Prefix(bits)
			dst, _ := x.Dst.Prefix(bits)
			ask(x.Exporter, src, dst)
		}
	}
	ask(netip.MustParseAddr("203.0.113.1"), netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.0.0/24"))
	got, err := r.client.PairTraffic(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	some := 0
	for _, w := range want {
		if w.AlphaFlowBytes > 0 && w.AlphaFlowBytes < w.Bytes {
			some++
		}
	}
	if diff := gocmp.Diff(got.Msg.GetPairs(), want, protocmp.Transform()); diff != "" || some == 0 {
		t.Errorf("%d pairs, %d with alpha flows and others (-got +want)\n%.3000s", len(want), some, diff)
	}
}

func TestPairTrafficRefuses(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	good := func() *flowv1.PairTrafficRequest {
		return &flowv1.PairTrafficRequest{
			From: timestamppb.New(day0), To: timestamppb.New(day0.Add(time.Hour)), Interval: durationpb.New(time.Minute),
			Pairs: []*flowv1.PrefixPair{{Exporter: "192.0.2.1", Src: "10.0.0.0/24", Dst: "10.0.1.0/24"}},
		}
	}
	for name, change := range map[string]func(*flowv1.PairTrafficRequest){
		"no pair":     func(m *flowv1.PairTrafficRequest) { m.Pairs = nil },
		"no exporter": func(m *flowv1.PairTrafficRequest) { m.Pairs[0].Exporter = "" },
		"no window":   func(m *flowv1.PairTrafficRequest) { m.To = m.From },
		"no interval": func(m *flowv1.PairTrafficRequest) { m.Interval = nil },
	} {
		m := good()
		change(m)
		if _, err := r.client.PairTraffic(t.Context(), connect.NewRequest(m)); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v, want INVALID_ARGUMENT", name, err)
		}
	}
	if _, err := r.client.PairTraffic(t.Context(), connect.NewRequest(good())); err != nil {
		t.Error(err)
	}
}
