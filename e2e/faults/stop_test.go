package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// alone is a control plane of one process with the bus in its memory, on a folder that outlives it.
type alone struct {
	dir, host, url string
	ended          time.Time // of each flow that is imported: the same import again, even after midnight, is of the same day
	up             *process
	files          flowv1connect.FlowCollectorServiceClient
	store          flowv1connect.FlowStoreServiceClient
}

type process = program.Process

func newAlone(t *testing.T) *alone {
	t.Helper()
	program.NeedLibrary(t)
	a := &alone{dir: t.TempDir(), host: program.OwnHost(), ended: time.Now().Add(-10 * time.Second).Truncate(time.Millisecond)}
	a.url = "http://" + a.host + ":8080"
	for file, text := range map[string]string{"millrace.yaml": fmt.Sprintf(oneProcess, a.dir, a.host), "inventory.yaml": "devices: []\n"} {
		if err := os.WriteFile(filepath.Join(a.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.files = flowv1connect.NewFlowCollectorServiceClient(http.DefaultClient, a.url)
	a.store = flowv1connect.NewFlowStoreServiceClient(http.DefaultClient, a.url)
	return a
}

func (a *alone) start(t *testing.T) {
	t.Helper()
	a.up = program.Start(t, a.dir, "up", program.Path, "up", "--config", filepath.Join(a.dir, "millrace.yaml"))
	up := a.up
	t.Cleanup(func() { up.Signal(t, syscall.SIGKILL) })
	a.up.WaitReady(t, a.url)
}

// flows are those of each source that are stored.
func (a *alone) flows(ctx context.Context) (bySource map[netip.Addr]uint64, sum uint64, err error) {
	r, err := a.store.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(time.Now().Add(-3 * time.Hour)), To: timestamppb.New(time.Now().Add(3 * time.Hour)), Ipv4Length: 32, Limit: 10_000,
	}))
	if err != nil {
		return nil, 0, err
	}
	bySource = map[netip.Addr]uint64{}
	for _, p := range r.Msg.GetPairs() {
		src, err := netip.ParsePrefix(p.GetPair().GetSrc())
		if err != nil {
			return nil, 0, err
		}
		bySource[src.Addr()] += p.GetFlows()
		sum += p.GetFlows()
	}
	return bySource, sum, nil
}

// give imports one flow of a source.
func (a *alone) give(ctx context.Context, src netip.Addr) error {
	r := plane.Flow("", 0, plane.Small)
	r.SrcAddr, r.Start, r.End = src.AsSlice(), timestamppb.New(a.ended.Add(-20*time.Second)), timestamppb.New(a.ended)
	stream := a.files.Import(ctx)
	if err := stream.Send(&flowv1.ImportRequest{Batch: &flowv1.FlowBatch{BatchId: src.String(), Records: []*flowv1.FlowRecord{r}}}); err != nil {
		return err
	}
	_, err := stream.CloseAndReceive()
	return err
}

// TestAStopKeepsFlowsThatTheStoreHasNot: the disk under the flow store is full, so that it can store nothing in its
// time. What collector and bus hold waits for the next start, and an import is not said to be done.
func TestAStopKeepsFlowsThatTheStoreHasNot(t *testing.T) {
	const datagrams, records = 100, 30 * 100
	a := newAlone(t)
	disk := faults.NewDisk(t, filepath.Join(a.dir, "data", "clickhouse"), 256<<20)
	a.start(t)
	disk.Fill(t)
	socket, err := net.Dial("udp", a.host+":2055")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for n := range uint32(datagrams) {
		if _, err := socket.Write(datagram(30 * n)); err != nil {
			t.Fatal(err)
		}
	}
	imported := netip.MustParseAddr("10.9.9.9")
	answer := make(chan error, 1)
	go func() { answer <- a.give(t.Context(), imported) }()
	program.Until(t, "the flows wait for the store", func() (bool, any) {
		found := metrics(t, a.url)
		taken, lag := sum(found, "millrace_collectors_flow_records_total"), found[`millrace_internal_bus_lag_messages{group="flowstore",topic="millrace.flows.v1"}`]
		return taken == records && lag >= 2, []float64{taken, lag} // datagrams and the import
	})
	a.up.Signal(t, syscall.SIGTERM)
	if err := <-answer; err == nil {
		t.Error("an import was answered that the store does not have")
	}
	disk.Empty(t)
	a.start(t)
	program.Until(t, "the flows of before the stop are stored", func() (bool, any) {
		bySource, sum, err := a.flows(t.Context())
		return err == nil && sum == records+1 && bySource[imported] == 1, []any{sum, err}
	})
	if err := a.give(t.Context(), imported); err != nil {
		t.Fatal(err)
	}
	if _, sum, err := a.flows(t.Context()); err != nil || sum != records+1 {
		t.Errorf("after the import was repeated %d flows are stored (%v), want %d", sum, err, records+1)
	}
}

// TestAnAnsweredImportIsStored: one record after the other by several clients, as fast as they are answered, until the
// process is stopped or killed.
func TestAnAnsweredImportIsStored(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			const clients, enough = 4, 20
			a := newAlone(t)
			a.start(t)
			var mu sync.Mutex
			var answered []netip.Addr
			reached := make(chan struct{})
			var giving sync.WaitGroup
			for client := range byte(clients) {
				giving.Go(func() {
					src := netip.AddrFrom4([4]byte{10, client, 0, 0})
					for a.give(t.Context(), src) == nil {
						mu.Lock()
						if answered = append(answered, src); len(answered) == enough {
							close(reached)
						}
						mu.Unlock()
						src = src.Next()
					}
				})
			}
			select {
			case <-reached:
			case <-time.After(program.Patience):
				t.Error("imports are not answered")
			}
			a.up.Signal(t, s)
			giving.Wait()
			a.start(t)
			bySource, _, err := a.flows(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d imports were answered", len(answered))
			for _, src := range answered {
				if bySource[src] != 1 {
					t.Errorf("the flow of %s, whose import was answered, is stored %d times", src, bySource[src])
				}
			}
		})
	}
}
