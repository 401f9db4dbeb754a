package faults

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// octets of a flow that was taken.
type octets uint64

const (
	small octets = 3000
	huge  octets = 4_000_000_000
)

// exporter is WR's.
var exporter = netip.MustParseAddr("192.0.2.1")

// flow ended a moment ago; those of one name go between the same hosts.
func flow(name string, n int, size octets) *flowv1.FlowRecord {
	end := time.Now().Add(-10 * time.Second).Truncate(time.Millisecond)
	return &flowv1.FlowRecord{
		Exporter: exporter.AsSlice(), Start: timestamppb.New(end.Add(-20 * time.Second)), End: timestamppb.New(end),
		SrcAddr: []byte{10, 1, 0, byte(5 + n)}, DstAddr: []byte{10, 2, 0, byte(5 + n)}, SrcPort: uint32(1024 + len(name)), DstPort: 443, Protocol: 6, InIf: 3,
		Bytes: uint64(size), Packets: uint64(size)/1500 + 1, SamplingRate: 1, Source: flowv1.Source_SOURCE_NFCAPD,
	}
}

// send imports one flow as `millrace flows import` does, again until it is answered.
func (w *workWorld) send(t *testing.T, name string, size octets) {
	t.Helper()
	n := len(w.taken) % 200
	batch := &flowv1.FlowBatch{BatchId: name, Records: []*flowv1.FlowRecord{flow(name, n, size)}}
	asking(t, name+" is imported", func(ctx context.Context) error { return w.stream(ctx, func() {}, batch) })
	w.taken, w.sent = append(w.taken, size), append(w.sent, batch)
}

// stream imports batches; between is called after the first.
func (w *workWorld) stream(ctx context.Context, between func(), batches ...*flowv1.FlowBatch) error {
	stream := w.files.Import(ctx)
	for i, batch := range batches {
		if err := stream.Send(&flowv1.ImportRequest{Batch: batch}); err != nil {
			_, closed := stream.CloseAndReceive() // says why the stream ended
			return errors.Join(err, closed)
		}
		if i == 0 {
			between()
		}
	}
	_, err := stream.CloseAndReceive()
	return err
}

// allStored waits until the store has what was taken, and wants it once.
func (w *workWorld) allStored(t *testing.T) {
	t.Helper()
	var sum octets
	for _, size := range w.taken {
		sum += size
	}
	program.Until(t, "all flows are stored", func() (bool, any) {
		flows, total, err := w.stored(t.Context())
		if flows > len(w.taken) || total > sum {
			t.Fatalf("%d flows of %d octets were taken, and the store counts %d of %d", len(w.taken), sum, flows, total)
		}
		return err == nil && flows == len(w.taken) && total == sum, []any{flows, total, err}
	})
}

func (w *workWorld) stored(ctx context.Context) (flows int, total octets, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := w.store.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(time.Now().Add(-3 * time.Hour)), To: timestamppb.New(time.Now().Add(3 * time.Hour)), Ipv4Length: 32, Limit: 10_000,
	}))
	if err != nil {
		return 0, 0, err
	}
	for _, p := range r.Msg.GetPairs() {
		flows, total = flows+int(p.GetFlows()), total+octets(p.GetBytes())
	}
	return flows, total, nil
}

// runReads is a nightly run whose query of the flow store is on its link.
func runReads(t *testing.T, w *workWorld, n int) (func(), func(*testing.T, bool)) {
	return w.nightlyRun(t, n, w.Links["flowstore"])
}

// runAsks is a nightly run whose request for a change set is on its link.
func runAsks(t *testing.T, w *workWorld, n int) (func(), func(*testing.T, bool)) {
	return w.nightlyRun(t, n, w.Links["push"])
}

// nightlyRun makes one that has a new alpha flow to find, and holds what it sends on a connection. The run before
// reads the outcome of the last change set, so that this one requests its own first, after it has recorded its pair.
func (w *workWorld) nightlyRun(t *testing.T, n int, link *faults.Link) (release func(), done func(*testing.T, bool)) {
	t.Helper()
	asking(t, "the run before", w.nightly)
	w.send(t, fmt.Sprint("alpha-", n), huge)
	w.allStored(t)
	pair := flow("", (len(w.taken)-1)%200, huge)
	src, _ := netip.AddrFromSlice(pair.GetSrcAddr())
	link.Set(faults.Condition{StallForth: true})
	ended := make(chan error, 1)
	go func() { ended <- w.nightly(context.WithoutCancel(t.Context())) }()
	program.Until(t, "the nightly run is there", func() (bool, any) {
		select {
		case err := <-ended:
			t.Fatalf("the nightly run has ended before: %v", err)
		default:
		}
		return link.Held() > 0, nil
	})
	return func() { link.Set(faults.Condition{}) }, func(t *testing.T, _ bool) {
		t.Logf("the nightly run that was struck ended with %v", <-ended)
		w.allStored(t) // what was imported again is on its way
		asking(t, "a nightly run", w.nightly)
		w.settle(t)
		w.inForce(t, netip.PrefixFrom(src, 32).String())
	}
}

func (w *workWorld) nightly(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := w.alpha.Nightly(ctx, connect.NewRequest(&alphav1.NightlyRequest{}))
	if err == nil && len(r.Msg.GetRefused()) > 0 {
		err = fmt.Errorf("refused: %s", r.Msg.GetRefused()[0].GetReason())
	}
	return err
}

// settle approves what waits for a person until nothing moves.
func (w *workWorld) settle(t *testing.T) {
	t.Helper()
	asking(t, "change sets have ended", func(ctx context.Context) error {
		r, err := w.Changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{Limit: 20}))
		if err != nil {
			return err
		}
		for _, cs := range r.Msg.GetChanges() {
			switch cs.GetState() {
			case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED, pushv1.State_STATE_EMPTY:
				continue
			case pushv1.State_STATE_PLANNED:
				_, err = w.Changes.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: cs.GetId(), By: "operator", Apply: true}))
			case pushv1.State_STATE_APPROVED:
				_, err = w.Changes.Apply(ctx, connect.NewRequest(&pushv1.ApplyRequest{Id: cs.GetId(), By: "operator"}))
			}
			return errors.Join(fmt.Errorf("%s is %s", cs.GetId(), word(cs.GetState())), err)
		}
		return nil
	})
}

// pairs are those in force.
func (w *workWorld) pairs(t *testing.T) []*alphav1.Pair {
	t.Helper()
	var out []*alphav1.Pair
	asking(t, "pairs are listed", func(ctx context.Context) error {
		r, err := w.alpha.List(ctx, connect.NewRequest(&alphav1.ListRequest{}))
		if err == nil {
			out = r.Msg.GetPairs()
		}
		return err
	})
	return out
}

// keeps wants pairs that were in force before a fault to be so still: whatever flows are gone, none has aged out.
func (w *workWorld) keeps(t *testing.T, before []*alphav1.Pair) {
	t.Helper()
	now := map[string]bool{}
	for _, p := range w.pairs(t) {
		now[p.GetId()] = true
	}
	for _, p := range before {
		if !now[p.GetId()] {
			t.Errorf("the pair %s to %s is no longer in force", p.GetSrc(), p.GetDst())
		}
	}
}

// inForce wants a pair of this source once, in a change set that is verified, and on WR.
func (w *workWorld) inForce(t *testing.T, src string) {
	t.Helper()
	r, err := w.alpha.List(t.Context(), connect.NewRequest(&alphav1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, p := range r.Msg.GetPairs() {
		if p.GetSrc() == src {
			times++
		}
	}
	if times != 1 {
		t.Errorf("%s is in force %d times: %v", src, times, r.Msg.GetPairs())
	}
	for path, entry := range w.Routers["WR"].Entries() {
		if strings.Contains(path+entry, src) {
			return
		}
	}
	t.Errorf("WR holds nothing of %s: %v", src, w.Routers["WR"].Entries())
}

// importing is a file of two batches, of which one was sent.
func importing(t *testing.T, w *workWorld, n int) (release func(), done func(*testing.T, bool)) {
	t.Helper()
	var batches []*flowv1.FlowBatch
	for half := range 2 {
		batches = append(batches, &flowv1.FlowBatch{BatchId: fmt.Sprint("half-", n, "-", half), Records: []*flowv1.FlowRecord{flow("half", (len(w.taken)+half)%200, small)}})
	}
	at, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx := context.WithoutCancel(t.Context())
	go func() { ended <- w.stream(ctx, func() { close(at); <-goOn }, batches...) }()
	<-at
	return func() { close(goOn) }, func(t *testing.T, forgot bool) {
		if err := <-ended; err != nil || forgot {
			t.Logf("the import that was struck ended with %v", err)
			asking(t, "the import again", func(ctx context.Context) error { return w.stream(ctx, func() {}, batches...) })
		}
		w.taken = append(w.taken, small, small)
	}
}

// weighing is a change of weights of which one PE knows.
func weighing(t *testing.T, w *workWorld, n int) (release func(), done func(*testing.T, bool)) {
	t.Helper()
	reason := fmt.Sprint("change ", n)
	change := func(ctx context.Context) error {
		_, err := w.vpn.SetWeights(ctx, connect.NewRequest(&vpnv1.SetWeightsRequest{
			Weights: []*vpnv1.Weight{{Vpn: "red", Weight: float64(1 + n)}}, By: "operator", Reason: reason,
		}))
		return err
	}
	link := w.Routers["WR"].PE.Link
	link.Set(faults.Condition{StallForth: true})
	asking(t, "weights are changed", change)
	program.Until(t, "ER's PE has them", func() (bool, any) {
		has := w.Routers["ER"].PE.Has()
		return has.GetVersion().GetNumber() > w.Routers["WR"].PE.Has().GetVersion().GetNumber(), has
	})
	return func() { link.Set(faults.Condition{}) }, func(t *testing.T, forgot bool) {
		if forgot {
			asking(t, "weights are changed again", change)
		}
		w.spread(t, reason)
	}
}

// spread waits until every PE has the weights in force, which are those of the reason, made once.
func (w *workWorld) spread(t *testing.T, reason string) {
	t.Helper()
	program.Until(t, "weights are spread", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := w.vpn.Weights(ctx, connect.NewRequest(&vpnv1.WeightsRequest{}))
		if err != nil {
			return false, err
		}
		want := r.Msg.GetChange()
		for _, router := range w.Routers {
			if !proto.Equal(router.PE.Has().GetVersion(), want.GetVersion()) {
				return false, []any{router.Name, router.PE.Has().GetVersion(), want.GetVersion()}
			}
		}
		return want.GetReason() == reason, want
	})
	r, err := w.vpn.History(t.Context(), connect.NewRequest(&vpnv1.HistoryRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, c := range r.Msg.GetChanges() {
		if c.GetReason() == reason {
			times++
		}
	}
	if times != 1 {
		t.Errorf("%q is %d times in the history", reason, times)
	}
}
