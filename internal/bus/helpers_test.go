package bus_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// taken is one message a handler took.
type taken struct{ key, text string }

// recorder is a handler that takes everything and remembers it.
type recorder struct {
	mu  sync.Mutex
	got []taken
}

func newRecorder() *recorder { return &recorder{} }

func (r *recorder) take(_ context.Context, m bus.Message) error {
	event := &eventv1.Event{}
	if err := proto.Unmarshal(m.Value, event); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, taken{m.Key, event.GetText()})
	return nil
}

func (r *recorder) all() []taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *recorder) until(t *testing.T, enough func([]taken) bool) {
	t.Helper()
	for end := time.Now().Add(patience); !enough(r.all()); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting; taken so far: %v", r.all())
		}
	}
}

// distinct are the texts without repetitions, which every bus may make, sorted.
func distinct(got []taken) []string {
	var texts []string
	for _, m := range got {
		texts = append(texts, m.text)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// latest is the last text of each key, as a service keeps it.
func latest(got []taken) map[string]string {
	last := map[string]string{}
	for _, m := range got {
		last[m.key] = m.text
	}
	return last
}

// order checks that what is taken of each key counts up without a gap. It
// fails the first delivery of every tenth message, to mix redelivery in.
type order struct {
	mu     sync.Mutex
	next   map[string]int
	want   map[string]int
	failed map[taken]bool
}

func newOrder() *order {
	return &order{next: map[string]int{}, want: map[string]int{}, failed: map[taken]bool{}}
}

func (o *order) take(t *testing.T, m bus.Message) error {
	id := taken{m.Key, text(t, m)}
	n, err := strconv.Atoi(id.text)
	if err != nil {
		t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if n%10 == 0 && !o.failed[id] {
		o.failed[id] = true
		return errors.New("first try fails")
	}
	if n > o.next[m.Key] {
		t.Errorf("%s: got message %d when %d was due", m.Key, n, o.next[m.Key])
	}
	o.next[m.Key] = max(o.next[m.Key], n+1)
	return nil
}

// expect says how many messages key has in all.
func (o *order) expect(key string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want[key] = n
}

func (o *order) untilComplete(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		o.mu.Lock()
		d := cmp.Diff(o.next, o.want)
		o.mu.Unlock()
		if d == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("gave up waiting for the messages of each key (-got +want):\n%s", d)
		}
	}
}

func text(t *testing.T, m bus.Message) string {
	event := &eventv1.Event{}
	if err := proto.Unmarshal(m.Value, event); err != nil {
		t.Error(err)
	}
	return event.GetText()
}

func subscribe(t *testing.T, b bus.Bus, topic, group string, h bus.Handler) {
	t.Helper()
	if err := b.Subscribe(t.Context(), topic, group, h); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, b bus.Bus, topic, key, text string) {
	t.Helper()
	if err := b.Publish(t.Context(), topic, key, &eventv1.Event{Text: text}); err != nil {
		t.Error(err)
	}
}

func receive(t *testing.T, from <-chan bus.Message) bus.Message {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(patience):
		t.Fatal("gave up waiting for a message")
		return bus.Message{}
	}
}

// eventually waits for metrics to have these values, summed over their labels.
func eventually(t *testing.T, registry *prometheus.Registry, want map[string]float64) {
	t.Helper()
	var got map[string]float64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got = map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				got[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		if cmp.Equal(got, want) {
			return
		}
	}
	t.Errorf("metrics (-got +want):\n%s", cmp.Diff(got, want))
}
