package state

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func TestWhatIsReportedOfTheSize(t *testing.T) {
	const mega = 1 << 20
	for name, c := range map[string]struct {
		size             Size
		told             bool
		tell, defragment bool
	}{
		"there is room":                             {Size{79 * mega, 79 * mega, 100 * mega}, false, false, false},
		"it is full":                                {Size{81 * mega, 81 * mega, 100 * mega}, false, true, false},
		"it is full of free pages":                  {Size{810 * mega, 700 * mega, 1000 * mega}, false, true, true},
		"it was told":                               {Size{81 * mega, 81 * mega, 100 * mega}, true, false, false},
		"a little room is none":                     {Size{75 * mega, 75 * mega, 100 * mega}, true, false, false},
		"there is room again":                       {Size{69 * mega, 69 * mega, 100 * mega}, true, true, false},
		"a file that is half empty is made smaller": {Size{1000 * mega, 400 * mega, 2000 * mega}, false, false, true},
		"a small one is not":                        {Size{100 * mega, 40 * mega, 2000 * mega}, false, false, false},
		"nor one with less than half free":          {Size{1000 * mega, 600 * mega, 2000 * mega}, false, false, false},
		"no quota, no end":                          {Size{100 * mega, 100 * mega, 0}, false, false, false},
	} {
		if tell, defragment := judge(c.size, c.told, leastWaste); tell != c.tell || defragment != c.defragment {
			t.Errorf("%s: tell %v, defragment %v", name, tell, defragment)
		}
	}
}

// A file is filled over the limit and emptied again: that is reported, its end is reported, and the file gets smaller.
func TestAFullEtcdIsReportedBeforeItTakesNoMore(t *testing.T) {
	e := NewEmbedded(t.TempDir(), UnsafeNoFsync, Quota(64<<20))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.Background()) //nolint:errcheck // the test ends
	b := bus.NewMemory()
	defer b.Close()
	codes := make(chan string, 10)
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		event := &eventv1.Event{}
		defer func() { codes <- event.GetCode() }()
		return proto.Unmarshal(m.Value, event)
	})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	k := NewKeeper(e.Store(), e.Defragment, events.NewPublisher(b, log), log, prometheus.NewRegistry())
	k.leastWaste = 1 << 20
	look := func() {
		t.Helper()
		if err := k.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	value := wrapperspb.Bytes(make([]byte, 100<<10))
	var first, last int64
	for keys := 0; room(t, e) >= fullRoom; keys++ {
		if last, err = e.Store().Put(t.Context(), fmt.Sprintf("fill/%03d", keys), 0, value); err != nil {
			t.Fatal(err)
		}
		first = cmp.Or(first, last)
	}
	look()
	if got := await.Value(t, "that it is full", codes); got != events.StateFull.Code() {
		t.Errorf("told %s", got)
	}
	full := testutil.ToFloat64(k.octets.WithLabelValues("file"))
	if err := e.Store().DeleteBelow(t.Context(), "fill/", "fill/000", first); err != nil {
		t.Fatal(err)
	}
	if _, err := e.store.client.Compact(t.Context(), last+1); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the file is smaller", func() bool {
		if err := e.Store().Apply(t.Context(), Op{Key: "counted", Value: wrapperspb.Bytes(nil)}); err != nil { // free pages are counted at writes
			t.Fatal(err)
		}
		look()
		return testutil.ToFloat64(k.octets.WithLabelValues("file")) < full/2
	})
	if got := await.Value(t, "that there is room", codes); got != events.StateRoom.Code() {
		t.Errorf("told %s", got)
	}
}

// room is what is left once everything is in the file: etcd writes many values at once.
func room(t *testing.T, e *Embedded) float64 {
	t.Helper()
	e.etcd.Server.Backend().ForceCommit()
	size, err := e.Store().Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return size.Room()
}
