package push

import (
	"bytes"
	"crypto/rand"
	"google.golang.org/protobuf/encoding/protowire"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// incompressible is what compression cannot bring below a piece.
func incompressible() *pushv1.DeviceChange {
	var diff strings.Builder
	for diff.Len() < 3*pieceBytes {
		diff.WriteString(rand.Text())
	}
	return &pushv1.DeviceChange{Device: "wr", State: pushv1.DeviceState_DEVICE_STATE_PLANNED, Diff: diff.String(),
		Entries: []*pushv1.EntryChange{{Path: "/qos", Before: "{}", After: ""}}}
}

func TestContentsComeBackWhole(t *testing.T) {
	store, d := storeOf(t), incompressible()
	want := d.GetDiff()
	kept := &contents{store: store, recent: map[string]*pushv1.DeviceChange{}}
	for range 2 { // the second time it is there already
		if err := kept.save(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	pieces, err := store.List(t.Context(), contentPrefix)
	if err != nil || len(pieces) < 2 {
		t.Fatalf("%d pieces (%v), want several", len(pieces), err)
	}
	record := withoutContents(&pushv1.ChangeSet{Id: "c-1", Devices: []*pushv1.DeviceChange{d}})
	if n := proto.Size(record); n > 200 {
		t.Errorf("the record has %d bytes, want it without its contents", n)
	}
	got := record.GetDevices()[0]
	if got.GetState() != d.GetState() || got.GetDiff() != "" {
		t.Errorf("the record's device is %v, want all but plan, entries and diff", got)
	}
	another := &contents{store: store, recent: map[string]*pushv1.DeviceChange{}}
	if err := another.fillAll(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if got.GetDiff() != want || len(got.GetEntries()) != 1 {
		t.Errorf("%d bytes of diff and %d entries came back, want %d and 1", len(got.GetDiff()), len(got.GetEntries()), len(want))
	}
}

func TestAContentThatIsNotWholeIsAnError(t *testing.T) {
	store, d := storeOf(t), incompressible()
	kept := &contents{store: store, recent: map[string]*pushv1.DeviceChange{}}
	if err := kept.save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	pieces, err := store.List(t.Context(), contentPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Apply(t.Context(), state.Op{Key: pieces[1].Key}); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.read(t.Context(), d.GetContent()); err == nil {
		t.Error("a content without one of its pieces was read")
	}
}

// While a newer control plane takes over, an older one still writes records; it must not erase fields that
// it does not know.
func TestFieldsOfANewerProcessSurviveAnUpdate(t *testing.T) {
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	newer := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "canary")
	add := func(cs *pushv1.ChangeSet) {
		cs.ProtoReflect().SetUnknown(newer)
		for _, d := range cs.GetDevices() {
			d.ProtoReflect().SetUnknown(newer)
		}
	}
	if _, _, err := w.push.update(t.Context(), w.id, func(cs *pushv1.ChangeSet) error { add(cs); return nil }); err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"approve"}), "")
	cs := w.record()
	if !bytes.Equal(cs.ProtoReflect().GetUnknown(), newer) {
		t.Error("the record lost a field")
	}
	for _, d := range cs.GetDevices() {
		if !bytes.Equal(d.ProtoReflect().GetUnknown(), newer) {
			t.Errorf("%s lost a field", d.GetDevice())
		}
	}
}
