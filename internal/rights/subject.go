package rights

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// itself is the path of an element that is a name, and anything the one that stands for all of a kind.
const itself, anything = ".", "*"

// About is what a request names by the paths that its call declares.
func About(call Call, request proto.Message) Things {
	s := call.Subject
	return Things{namesAt(request, s.GetRouters()), namesAt(request, s.GetVpns()), namesAt(request, s.GetPolicies())}
}

func namesAt(m proto.Message, paths []string) (out []string) {
	for _, p := range paths {
		if p == anything {
			out = append(out, "")
		} else if m != nil {
			out = append(out, names(m.ProtoReflect(), strings.Split(p, "."))...)
		}
	}
	return out
}

// names are the texts at a path. A field that is no text there, or none at all, is a mistake of the .proto file, which
// tools/rights and its test find.
func names(m protoreflect.Message, path []string) (out []string) {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(path[0]))
	if f == nil {
		return []string{""}
	}
	each := func(v protoreflect.Value) {
		switch {
		case f.Kind() == protoreflect.StringKind && len(path) == 1:
			out = append(out, v.String())
		case f.Kind() == protoreflect.MessageKind && len(path) > 1:
			out = append(out, names(v.Message(), path[1:])...)
		default:
			out = append(out, "")
		}
	}
	switch {
	case f.IsList():
		for i := range m.Get(f).List().Len() {
			each(m.Get(f).List().Get(i))
		}
	case f.Kind() != protoreflect.MessageKind || m.Has(f):
		each(m.Get(f))
	}
	return out
}

// Filter leaves of the lists of an answer what is within the limits of the caller. The lists are made anew: a service
// may keep those that it answers with.
func Filter(who Caller, call Call, answer proto.Message) {
	if answer == nil || who.Limits.None() {
		return
	}
	for _, l := range call.Subject.GetLists() {
		m := answer.ProtoReflect()
		f := m.Descriptor().Fields().ByName(protoreflect.Name(l.GetList()))
		if f == nil || !f.IsList() || !m.Has(f) {
			continue
		}
		kept := m.NewField(f).List()
		for i := range m.Get(f).List().Len() {
			if v := m.Get(f).List().Get(i); shown(who.Limits, call, elementAt(f, v, l.GetRouters()), elementAt(f, v, l.GetVpns())) {
				kept.Append(v)
			}
		}
		m.Set(f, protoreflect.ValueOfList(kept))
	}
}

// elementAt is what an element of a list names.
func elementAt(f protoreflect.FieldDescriptor, v protoreflect.Value, paths []string) []string {
	if slices.Contains(paths, itself) {
		return []string{v.String()}
	}
	if f.Kind() != protoreflect.MessageKind {
		return nil
	}
	return namesAt(v.Message().Interface(), paths)
}

// shown reports whether an element is about something within the limits, or about nothing that has a name.
func shown(l Limits, call Call, routers, vpns []string) bool {
	named := false
	for i, all := range [][]string{routers, vpns} {
		for _, name := range all {
			if name == "" || l.within(call.Needs, thing{kinds[i], name}) {
				return true
			}
			named = true
		}
	}
	return !named
}

// Whole reports whether a caller with limits gets the whole answer of a call that only reads, because it has no list
// that could be filtered.
func Whole(who Caller, call Call) bool {
	return !who.Limits.None() && call.API != "" && !call.Changes && call.Needs > Nobody && !call.Subject.GetOwn() && len(call.Subject.GetLists()) == 0
}
