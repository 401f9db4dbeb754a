package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func open(t *testing.T, folder string) *Memory {
	t.Helper()
	b, err := openMemory(folder, room{messages: 4, bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func give(t *testing.T, b *Memory, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := b.Publish(t.Context(), TopicFlows, text[:1], &eventv1.Event{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
}

// keeper takes messages until the channel is full; then none.
func keeper(t *testing.T, b *Memory, into chan string) {
	t.Helper()
	err := b.Subscribe(t.Context(), TopicFlows, Keepers[TopicFlows], func(ctx context.Context, m Message) error {
		var e eventv1.Event
		if err := proto.Unmarshal(m.Value, &e); err != nil {
			return err
		}
		select {
		case into <- e.GetText():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// next are the messages that the next start hands to the keeper, in their order.
func next(t *testing.T, folder string, want ...string) {
	t.Helper()
	b, got := open(t, folder), make(chan string, 100)
	keeper(t, b, got)
	var texts []string
	for range want {
		texts = append(texts, <-got)
	}
	if d := cmp.Diff(texts, want); d != "" {
		t.Errorf("taken up (-got +want):\n%s", d)
	}
	await.True(t, "the file is removed", func() bool { return len(files(t, folder)) == 0 })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if n := len(got); n > 0 {
		t.Errorf("%d more came, such as %q", n, <-got)
	}
}

func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const flowsFile = "flowstore@millrace.flows.v1.waiting"

func TestWhatTheKeeperHasNotTakenWaitsForTheNextStart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bus") // one of before has no such folder
	b := open(t, folder)
	give(t, b, "a1", "b1") // nobody has subscribed yet
	got := make(chan string, 1)
	keeper(t, b, got)
	await.True(t, "one is taken", func() bool { return len(got) == 1 })
	give(t, b, "a2", "b2")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := testutil.ToFloat64(b.meter.lost.WithLabelValues(TopicFlows, "flowstore")); n != 0 {
		t.Errorf("%v messages are counted as lost", n)
	}
	next(t, folder, "b1", "a2", "b2")
	next(t, folder)
}

// TestAKeepersMessagesWaitFromStopToStopUntilTheyAreTaken: the store is away for longer than the process.
func TestAKeepersMessagesWaitFromStopToStopUntilTheyAreTaken(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{"a1", "a2", "a3"} {
		b := open(t, folder)
		give(t, b, text)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	next(t, folder, "a1", "a2", "a3")
}

// TestAProcessThatDiesFindsWaitingMessagesAgain: those it had handled, too, which their ids make harmless.
func TestAProcessThatDiesFindsWaitingMessagesAgain(t *testing.T) {
	folder := t.TempDir()
	b := open(t, folder)
	give(t, b, "a1", "b1")
	b.Close()
	part := filepath.Join(folder, flowsFile+".part-123")
	if err := os.WriteFile(part, []byte(waitingHead), 0o600); err != nil { // it died while it wrote
		t.Fatal(err)
	}
	dead, got := open(t, folder), make(chan string, 1)
	keeper(t, dead, got)
	await.True(t, "one is taken", func() bool { return len(got) == 1 })
	if d := cmp.Diff(files(t, folder), []string{flowsFile}); d != "" {
		t.Errorf("files (-got +want):\n%s", d)
	}
	next(t, folder, "a1", "b1")
	if len(files(t, folder)) > 0 {
		t.Errorf("files are left: %v", files(t, folder))
	}
}

func TestADamagedFileGivesWhatIsBeforeTheDamage(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	if err := (waitingFile{name: whole}).write([]Message{{Key: "a", Value: text(t, "a1")}, {Key: "b", Value: text(t, "b1")}, {Key: "c", Value: text(t, "c1")}}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte { b := slices.Clone(raw); b[at] ^= 1; return b }
	for _, tc := range []struct {
		name string
		raw  []byte
		want []string
		lost float64
	}{
		{"a torn tail", raw[:len(raw)-1], []string{"a1", "b1"}, 1},
		{"nothing but a head", raw[:len(waitingHead)+4], nil, 3},
		{"half a head", raw[:5], nil, 1},
		{"an empty file", nil, nil, 1},
		{"another version", flip(len(waitingHead) - 2), nil, 1},
		{"a flipped bit in the last message", flip(len(raw) - 1), []string{"a1", "b1"}, 1},
		{"a flipped bit in a length", flip(len(waitingHead) + 4), nil, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, flowsFile), tc.raw, 0o600); err != nil {
				t.Fatal(err)
			}
			b, got := open(t, folder), make(chan string, 100)
			keeper(t, b, got)
			for _, want := range tc.want {
				if text := <-got; text != want {
					t.Errorf("got %s, want %s", text, want)
				}
			}
			if n := testutil.ToFloat64(b.meter.lost.WithLabelValues(TopicFlows, "flowstore")); n != tc.lost {
				t.Errorf("%v messages are counted as lost, want %v", n, tc.lost)
			}
			if kept, err := os.ReadFile(filepath.Join(folder, flowsFile+".damaged")); err != nil || !slices.Equal(kept, tc.raw) {
				t.Errorf("the damaged file is not set aside: %v", err)
			}
			await.True(t, "the file is read once", func() bool { return !slices.Contains(files(t, folder), flowsFile) })
		})
	}
}

func text(t *testing.T, s string) []byte {
	t.Helper()
	raw, err := proto.Marshal(&eventv1.Event{Text: s})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func FuzzWaiting(f *testing.F) {
	var b strings.Builder
	if err := writeWaiting(&b, []Message{{Key: "k", Value: []byte("v"), Trace: "t"}, {Value: []byte{}}}); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b.String()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages, lost, err := readWaiting(strings.NewReader(string(raw)), "topic")
		if (err == nil) != (lost == 0) {
			t.Fatalf("%d lost, and the error is %v", lost, err)
		}
		var b strings.Builder
		if err := writeWaiting(&b, messages); err != nil {
			t.Fatal(err)
		}
		again, lost, err := readWaiting(strings.NewReader(b.String()), "topic")
		if d := cmp.Diff(again, messages); d != "" || lost != 0 || err != nil {
			t.Errorf("%d lost, %v, written and read again:\n%s", lost, err, d)
		}
	})
}

// TestAFullDiskAtTheStopIsSaid: the file of before stays, so that only what came since is lost, and a receipt says so.
func TestAFullDiskAtTheStopIsSaid(t *testing.T) {
	folder := t.TempDir()
	first := open(t, folder)
	give(t, first, "a1")
	first.Close()
	b, receipt := open(t, folder), &Receipt{}
	if err := b.PublishKept(t.Context(), receipt, TopicFlows, "a", &eventv1.Event{Text: "a2"}); err != nil {
		t.Fatal(err)
	}
	// A folder that is gone refuses root as well, as a full disk does.
	away := folder + "-away"
	if err := os.Rename(folder, away); err != nil {
		t.Fatal(err)
	}
	err := b.Close()
	if err == nil || !strings.Contains(err.Error(), "2 messages for flowstore are lost") {
		t.Errorf("close: %v", err)
	}
	if err := receipt.Wait(t.Context()); err == nil {
		t.Error("the receipt says that the message is kept")
	}
	next(t, away, "a1")
}

func TestAReceiptWaitsForTheKeeper(t *testing.T) {
	b, r, got := open(t, t.TempDir()), &Receipt{}, make(chan string)
	others := make(chan Message, 10)
	if err := b.Subscribe(t.Context(), TopicFlows, "alpha", func(_ context.Context, m Message) error { others <- m; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b"} {
		if err := b.PublishKept(t.Context(), r, TopicFlows, text, &eventv1.Event{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	<-others
	<-others // another group has both
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Wait(over); !errors.Is(err, context.Canceled) {
		t.Errorf("before the keeper has anything: %v", err)
	}
	keeper(t, b, got)
	<-got
	if err := r.Wait(over); !errors.Is(err, context.Canceled) {
		t.Errorf("before the keeper has all: %v", err)
	}
	<-got
	if err := r.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAReceiptIsRefusedWhereNobodyKeeps(t *testing.T) {
	b, r := NewMemory(), &Receipt{}
	defer b.Close()
	publish := func() error { return b.PublishKept(t.Context(), r, TopicFlows, "a", &eventv1.Event{}) }
	if err := publish(); !errors.Is(err, ErrNotKept) {
		t.Errorf("without a keeper: %v", err)
	}
	ctx, leave := context.WithCancel(t.Context())
	if err := b.Subscribe(ctx, TopicFlows, Keepers[TopicFlows], stuck); err != nil {
		t.Fatal(err)
	}
	if err := publish(); err != nil {
		t.Fatal(err)
	}
	leave()
	if err := r.Wait(t.Context()); !errors.Is(err, ErrNotKept) {
		t.Errorf("after the keeper has left: %v", err)
	}
}

// TestWhoStopsDoesNotWaitForRoom: what a collector holds at its stop is on the disk, however full the bus is.
func TestWhoStopsDoesNotWaitForRoom(t *testing.T) {
	folder := t.TempDir()
	b := open(t, folder)
	var want []string
	for n := range 4 {
		want = append(want, fmt.Sprint("a", n))
	}
	give(t, b, want...)
	published := make(chan error, 1)
	go func() { published <- b.Publish(t.Context(), TopicFlows, "a", &eventv1.Event{Text: "a4"}) }()
	await.True(t, "a publisher waits", func() bool { return b.Ready(t.Context()) != nil })
	b.Stopping()
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	give(t, b, "a5")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), TopicFlows, "a", &eventv1.Event{}); !errors.Is(err, ErrClosed) {
		t.Errorf("publish after the end: %v", err)
	}
	next(t, folder, append(want, "a4", "a5")...)
}

func TestAFolderThatCannotBeReadStopsTheStart(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, flowsFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := OpenMemory(folder); err == nil || !strings.Contains(err.Error(), flowsFile) {
		t.Errorf("opened %v, %v: want an error with the file's name", b, err)
	}
}

// Messages of a newer process are neither lost nor taken for damaged: no process starts before the newer one has taken
// them, on either bus.
func TestMessagesOfANewerProcessAreLeftToIt(t *testing.T) {
	for _, form := range []string{"2", "10"} {
		folder := t.TempDir()
		raw := []byte("millrace waiting messages " + form + "\nwhat this process does not read")
		if err := os.WriteFile(filepath.Join(folder, flowsFile), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenMemory(folder)
		kafka := (&Kafka{}).TakeUp(t.Context(), folder)
		for _, err := range []error{err, kafka} {
			if !errors.Is(err, ErrNewer) {
				t.Errorf("form %s: %v", form, err)
			}
		}
		if is, err := os.ReadFile(filepath.Join(folder, flowsFile)); err != nil || !slices.Equal(is, raw) || len(files(t, folder)) != 1 {
			t.Errorf("the folder has %v, the file %q, %v", files(t, folder), is, err)
		}
	}
}
