package alpha

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// silent is a flow store whose known pairs send nothing.
type silent struct{ *counted }

func (silent) PairTraffic(_ context.Context, req *connect.Request[flowv1.PairTrafficRequest]) (*connect.Response[flowv1.PairTrafficResponse], error) {
	out := &flowv1.PairTrafficResponse{}
	for range req.Msg.GetPairs() {
		out.Pairs = append(out.Pairs, &flowv1.PairTraffic{})
	}
	return connect.NewResponse(out), nil
}

// TestManyPairsLeaveEachDayReadOnce: what does not fit is forgotten, that seen longest ago first.
func TestManyPairsLeaveEachDayReadOnce(t *testing.T) {
	r := newRig(t, nil)
	reads := &counted{r.c.deps.FlowStore, map[time.Time]int{}}
	r.c.deps.FlowStore = silent{reads}
	until := midnight(noon)
	m, _, err := r.c.judged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Until = timestamppb.New(until)
	for i := uint32(0); proto.Size(m) <= largestState; i += 2500 {
		for k := range uint32(2500) {
			m.Known_24 = append(m.Known_24, &alphav1.KnownPair{
				Exporter: []byte{192, 0, 2, 1}, Src: []byte{10, 0, 0, 0}, Dst: binary.BigEndian.AppendUint32(nil, (i+k)<<8),
				LastSeen: timestamppb.New(until.Add(-time.Duration(i+k) * time.Second)),
			})
		}
	}
	known := len(m.Known_24)
	if _, err := r.c.deps.State.Put(t.Context(), keyEffectiveness, 0, m); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		r.now = until.Add(time.Duration(n+1)*day + 6*time.Hour)
		r.effectiveness(t, false)
		if len(reads.days) != n+1 || reads.days[until.Add(time.Duration(n)*day)] != 1 {
			t.Errorf("after %d days these were read: %v", n+1, reads.days)
		}
	}
	after, _, err := r.c.judged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	oldest := until
	for _, k := range after.GetKnown_24() {
		if at := k.GetLastSeen().AsTime(); at.Before(oldest) {
			oldest = at
		}
	}
	if n := len(after.GetKnown_24()); n >= known || n < known-3000 || until.Sub(oldest) != time.Duration(n-1)*time.Second || proto.Size(after) > largestState {
		t.Errorf("%d pairs of %d are left, the oldest of %v before, in %d octets", n, known, until.Sub(oldest), proto.Size(after))
	}
}

// slow is a flow store whose sums come when they are let go.
type slow struct {
	silent
	asked, goOn chan struct{}
}

func (s slow) Intervals(ctx context.Context, req *connect.Request[flowv1.IntervalsRequest]) (*connect.ServerStreamForClient[flowv1.IntervalsResponse], error) {
	s.asked <- struct{}{}
	<-s.goOn
	return s.silent.Intervals(ctx, req)
}

// TestWhatIsStoredIsThereWhileDaysAreJudged: the page asks for it, and the first evaluation reads 90 days.
func TestWhatIsStoredIsThereWhileDaysAreJudged(t *testing.T) {
	r := newRig(t, nil)
	store := slow{silent{&counted{r.c.deps.FlowStore, map[time.Time]int{}}}, make(chan struct{}), make(chan struct{})}
	r.c.deps.FlowStore = store
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := r.c.effectiveness(ctx, false)
		ended <- err
	}()
	<-store.asked
	r.effectiveness(t, true)
	cancel()
	close(store.goOn)
	if err := <-ended; err == nil {
		t.Error("the evaluation was over before what is stored was asked for")
	}
}
