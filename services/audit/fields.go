package audit

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fields of requests that are recorded, the first that is set of each. What is in no list is never recorded: passwords
// and codes are in none.
var (
	objectFields = []protoreflect.Name{"id", "router", "name", "title", "policy", "version", "request_id"}
	reasonFields = []protoreflect.Name{"reason", "note"}
	signerFields = []protoreflect.Name{"by", "author"}
	madeFields   = []protoreflect.Name{"id"}
	loginFields  = []protoreflect.Name{"name"}
)

func objectOf(m proto.Message) string { return firstOf(m, objectFields) }
func reasonOf(m proto.Message) string { return firstOf(m, reasonFields) }
func signerOf(m proto.Message) string { return firstOf(m, signerFields) }
func nameIn(m proto.Message) string   { return firstOf(m, loginFields) }

// idIn is the id of what a call made: of its answer, or of a message in that.
func idIn(m proto.Message) string {
	if m == nil {
		return ""
	}
	if id := firstOf(m, madeFields); id != "" {
		return id
	}
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Kind() != protoreflect.MessageKind || f.IsList() || f.IsMap() || !m.ProtoReflect().Has(f) {
			continue
		}
		if id := firstOf(m.ProtoReflect().Get(f).Message().Interface(), madeFields); id != "" {
			return id
		}
	}
	return ""
}

// firstOf is the first of the fields that is set, as text.
func firstOf(m proto.Message, names []protoreflect.Name) string {
	if m == nil {
		return ""
	}
	r := m.ProtoReflect()
	for _, name := range names {
		f := r.Descriptor().Fields().ByName(name)
		if f == nil || f.IsList() || !r.Has(f) {
			continue
		}
		switch f.Kind() {
		case protoreflect.StringKind:
			return clipped(r.Get(f).String())
		case protoreflect.Uint64Kind, protoreflect.Int64Kind:
			return fmt.Sprint(name, " ", r.Get(f).Interface())
		}
	}
	return ""
}

// longest is how much of a text is kept.
const longest = 200

func clipped(s string) string {
	runes := []rune(s)
	if len(runes) <= longest {
		return s
	}
	return string(runes[:longest]) + "…"
}
