package processes

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/transfers"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// latest is the newest start of a transfer that is over, lies in one minute, and in the hour of now: the gate refuses
// an exporter for hours in which no collector listened. Early in an hour there is none.
func latest(now time.Time) (begin time.Time, ok bool) {
	begin = now.Add(-transfers.Lasted)
	if minute := now.Truncate(time.Minute); begin.Before(minute) {
		begin = minute.Add(-transfers.Lasted - time.Second)
	}
	return begin.Truncate(time.Second), !begin.Before(now.Truncate(time.Hour))
}

func TestTransfersAreOfThisHour(t *testing.T) {
	for now, want := range map[string]string{
		"08:30:45": "08:30:25", "08:30:20": "08:30:00", "08:30:19": "08:29:39", "08:01:05": "08:00:39",
		"08:00:20": "08:00:00", "08:00:19": "", "08:00:00": "",
	} {
		at, err := time.Parse(time.TimeOnly, now)
		if err != nil {
			t.Fatal(err)
		}
		begin, ok := latest(at)
		if got := begin.Format(time.TimeOnly); ok != (want != "") || ok && got != want {
			t.Errorf("at %s: %s, %v, want %q", now, got, ok, want)
		}
	}
}

// export sends a transfer as the router does.
func (p *plane) export(t *testing.T, of transfers.Transfer) {
	t.Helper()
	if _, err := p.router.Write(of.V5(p.boot, p.begin, p.sequence)); err != nil {
		t.Fatal(err)
	}
	p.sequence++
}

// importBatch sends a transfer as `millrace flows import` does.
func (p *plane) importBatch(t *testing.T, id string, of transfers.Transfer) {
	t.Helper()
	stream := p.files.Import(t.Context())
	batch := &flowv1.FlowBatch{BatchId: id, Records: []*flowv1.FlowRecord{of.Record(exporter, p.begin)}}
	if err := stream.Send(&flowv1.ImportRequest{Batch: batch}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Fatal(err)
	}
}

func (p *plane) top() *connect.Request[flowv1.TopRequest] {
	return connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(p.begin.Add(-time.Hour)), To: timestamppb.New(p.begin.Add(time.Hour)), Ipv4Length: 24, Limit: 100,
	})
}

// waitStored waits until the store has as many pairs as transfers, and then compares them: each is counted
// once.
func (p *plane) waitStored(t *testing.T, all ...transfers.Transfer) {
	t.Helper()
	var got []*flowv1.PairBytes
	program.Until(t, fmt.Sprintf("%d transfers are stored", len(all)), func() (bool, any) {
		top, err := p.store.Top(t.Context(), p.top())
		if err != nil {
			return false, err
		}
		got = top.Msg.GetPairs()
		return len(got) >= len(all), top.Msg
	})
	var want []*flowv1.PairBytes
	for _, of := range all {
		want = append(want, &flowv1.PairBytes{
			Pair:  &flowv1.PrefixPair{Src: transfers.Prefix(of.Src), Dst: transfers.Prefix(of.Dst)},
			Bytes: uint64(of.Bytes), Packets: uint64(of.Packets()), Flows: 1,
		})
	}
	slices.SortFunc(want, func(a, b *flowv1.PairBytes) int { return cmp.Compare(b.GetBytes(), a.GetBytes()) })
	if d := gocmp.Diff(got, want, protocmp.Transform()); d != "" {
		t.Fatalf("stored (-got +want):\n%s", d)
	}
}

// checkUnavailable fails unless the gateway names the service that is down, in both protocols.
func (p *plane) checkUnavailable(t *testing.T) {
	t.Helper()
	want := "flowstore does not answer at " + p.url("flowstore")
	for name, client := range map[string]flowv1connect.FlowStoreServiceClient{"Connect": p.store, "gRPC": p.grpcStore()} {
		_, err := client.Top(t.Context(), p.top())
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// grpcStore calls the gateway over gRPC, as other people's clients do.
func (p *plane) grpcStore() flowv1connect.FlowStoreServiceClient {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	return flowv1connect.NewFlowStoreServiceClient(client, p.url("dashboard"), connect.WithGRPC())
}

// waitMetric waits until the /metrics of a process have the value.
func (p *plane) waitMetric(t *testing.T, service, metric string, value int) {
	t.Helper()
	p.waitMetricAt(t, p.url(service), metric, value)
}

func (p *plane) waitMetricAt(t *testing.T, url, metric string, value int) {
	t.Helper()
	want := fmt.Sprintf("%s %d", metric, value)
	program.Until(t, want, func() (bool, any) {
		r, err := http.Get(url + "/metrics")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		last := "no such metric, status " + r.Status
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), metric+" ") {
				last = lines.Text()
			}
		}
		return last == want, last
	})
}
