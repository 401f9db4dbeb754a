// Package newer plays a newer process: it gives records in etcd fields that this one does not know.
//
// In: a store and the prefixes of keys. Out: their records with a field of a newer process in every message; and later,
// which of these were lost when this process wrote the records again. Next: tests of all that keep records in etcd.
package newer

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/state/kinds"
)

// number is one that no message of Millrace has.
const number protowire.Number = 50001

// field is what a newer process has written.
var field = protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), "of a newer process")

// shown are the kinds of which records were written again in this test process.
var shown sync.Map

// Owner fails a test at its end unless a record of every kind that the folder's code changes was written again in it,
// with all fields of the newer process.
func Owner(t testing.TB, folder string) {
	t.Helper()
	t.Cleanup(func() {
		for _, k := range kinds.All {
			if _, is := shown.Load(k.Keys()); k.Owner == folder && k.Writing == kinds.Changed && !is {
				t.Errorf("no record of %s was written again beside a newer process", k.Keys())
			}
		}
	})
}

// Planted are records of a newer process.
type Planted struct {
	store *state.Store
	was   map[string]proto.Message
	at    map[string]int64
}

// Plant gives every message of every record below the prefixes a field of a newer process. Each must have one.
func Plant(t testing.TB, store *state.Store, prefixes ...string) *Planted {
	t.Helper()
	p := &Planted{store: store, was: map[string]proto.Message{}, at: map[string]int64{}}
	for _, prefix := range prefixes {
		before := len(p.was)
		entries, err := store.List(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			kind, known := kinds.Of(e.Key)
			if !known || kind.Writing != kinds.Changed { // a lock, or what is not written again
				continue
			}
			p.plant(t, kind, e)
		}
		if len(p.was) == before {
			t.Fatalf("there is no record below %s", prefix)
		}
	}
	return p
}

// plant writes a record with the field. Where the process has written it since it was read, it is read again, as a
// newer process does.
func (p *Planted) plant(t testing.TB, kind kinds.Kind, e state.Entry) {
	t.Helper()
	m, revision := read(t, kind, e.Value), e.Revision
	for {
		Into(m)
		at, err := p.store.Put(t.Context(), e.Key, revision, m)
		switch {
		case err == nil:
			p.was[e.Key], p.at[e.Key] = m, at
			return
		case !errors.Is(err, state.ErrConflict):
			t.Fatal(err)
		}
		proto.Reset(m)
		if revision, err = p.store.Get(t.Context(), e.Key, m); err != nil {
			t.Fatal(err)
		}
	}
}

// Into gives a message and all below it a field of a newer process.
func Into(m proto.Message) {
	each(m.ProtoReflect(), "", func(m protoreflect.Message, _ string) { m.SetUnknown(slices.Concat(m.GetUnknown(), field)) })
}

// Stay fails unless each of the records was written again, with all fields of the newer process. Messages at a path of
// others are other things now, such as the request after the one that was pending.
func (p *Planted) Stay(t testing.TB, others ...string) {
	t.Helper()
	for key, was := range p.was {
		kind, _ := kinds.Of(key)
		is := proto.Clone(kind.Record)
		proto.Reset(is)
		revision, err := p.store.Get(t.Context(), key, is)
		switch {
		case err != nil:
			t.Error(err)
		case revision == p.at[key]:
			t.Errorf("%s was not written again", key)
		default:
			shown.Store(kind.Keys(), true)
			p.compare(t, key, was, is, others)
		}
	}
}

// StayAs fails unless a record that was made of one below the prefix has all of its fields of the newer process.
func (p *Planted) StayAs(t testing.TB, prefix string, is proto.Message) {
	t.Helper()
	for key, was := range p.was {
		if kind, _ := kinds.Of(key); strings.HasPrefix(key, prefix) {
			shown.Store(kind.Keys(), true)
			p.compare(t, key, was, is, nil)
		}
	}
}

func (p *Planted) compare(t testing.TB, key string, was, is proto.Message, others []string) {
	t.Helper()
	for _, lost := range Lost(was, is) {
		if !slices.Contains(others, lost) {
			t.Errorf("%s: the field of a newer process is lost: %s", key, lost)
		}
	}
}

// Lost lists the messages of a record whose field of a newer process is gone, by the path to them. Of a list it looks
// at the elements that say what they said before.
func Lost(was, is proto.Message) (lost []string) {
	elements := map[string]bool{}
	each(was.ProtoReflect(), "", func(m protoreflect.Message, path string) { elements[path+" "+plain(m)] = true })
	there := map[string]bool{}
	each(was.ProtoReflect(), "", func(_ protoreflect.Message, path string) { there[path] = true })
	each(is.ProtoReflect(), "", func(m protoreflect.Message, path string) {
		listed := strings.Contains(path, "[]")
		if there[path] && (!listed || elements[path+" "+plain(m)]) && !strings.Contains(string(m.GetUnknown()), string(field)) {
			lost = append(lost, "record"+path)
		}
	})
	return lost
}

// plain is what a message says without fields of a newer process.
func plain(m protoreflect.Message) string {
	m = proto.Clone(m.Interface()).ProtoReflect()
	each(m, "", func(m protoreflect.Message, _ string) { m.SetUnknown(nil) })
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func read(t testing.TB, kind kinds.Kind, value []byte) proto.Message {
	t.Helper()
	m := proto.Clone(kind.Record)
	if err := proto.Unmarshal(value, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// each calls see with a message and all below it, and with the path to each. Those of Google, such as times, get no new
// fields.
func each(m protoreflect.Message, path string, see func(protoreflect.Message, string)) {
	if path != "" && m.Descriptor().ParentFile().Package() == "google.protobuf" {
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		below := path + "." + string(f.Name())
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(k protoreflect.MapKey, one protoreflect.Value) bool {
				each(one.Message(), below+"["+k.String()+"]", see)
				return true
			})
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				each(v.List().Get(i).Message(), below+"[]", see)
			}
		default:
			each(v.Message(), below, see)
		}
		return true
	})
	see(m, path)
}
