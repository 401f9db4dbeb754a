package state

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// KeepUnknown gives a record that was made anew from another one the fields of a newer process which that one has, at
// every depth, and returns it. An element of a list has those of the element that says the same otherwise.
func KeepUnknown[M proto.Message](was, is M) M {
	keepUnknown(was.ProtoReflect(), is.ProtoReflect())
	return is
}

func keepUnknown(was, is protoreflect.Message) {
	if !was.IsValid() || !is.IsValid() {
		return
	}
	if len(is.GetUnknown()) == 0 && len(was.GetUnknown()) > 0 {
		is.SetUnknown(was.GetUnknown())
	}
	is.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !was.Has(f) || !hasMessages(f) {
			return true
		}
		before := was.Get(f)
		switch {
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, one protoreflect.Value) bool {
				if before.Map().Has(k) {
					keepUnknown(before.Map().Get(k).Message(), one.Message())
				}
				return true
			})
		case f.IsList():
			keepInList(before.List(), v.List())
		default:
			keepUnknown(before.Message(), v.Message())
		}
		return true
	})
}

// hasMessages reports whether a field's values are messages.
func hasMessages(f protoreflect.FieldDescriptor) bool {
	if f.IsMap() {
		f = f.MapValue()
	}
	return f.Message() != nil
}

// keepInList finds each element by what it says in the fields that are known here.
func keepInList(was, is protoreflect.List) {
	of := map[string][]protoreflect.Message{}
	for i := range was.Len() {
		if m := was.Get(i).Message(); hasUnknown(m) {
			says := known(m)
			of[says] = append(of[says], m)
		}
	}
	for i := 0; i < is.Len() && len(of) > 0; i++ {
		m := is.Get(i).Message()
		says := known(m)
		if same := of[says]; len(same) > 0 {
			keepUnknown(same[0], m)
			of[says] = same[1:]
		}
	}
}

// SameKnown reports whether two messages say the same in the fields that are known here.
func SameKnown(a, b proto.Message) bool { return known(a.ProtoReflect()) == known(b.ProtoReflect()) }

// known is a message without fields of a newer process, for a comparison in this process.
func known(m protoreflect.Message) string {
	if hasUnknown(m) {
		m = proto.Clone(m.Interface()).ProtoReflect()
		eachMessage(m, func(m protoreflect.Message) bool { m.SetUnknown(nil); return true })
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	if err != nil {
		return "" // text that is no UTF-8, which no record has
	}
	return string(raw)
}

func hasUnknown(m protoreflect.Message) (has bool) {
	eachMessage(m, func(m protoreflect.Message) bool { has = has || len(m.GetUnknown()) > 0; return !has })
	return has
}

// eachMessage calls see with a message and all below it, until it is false.
func eachMessage(m protoreflect.Message, see func(protoreflect.Message) bool) bool {
	if !see(m) {
		return false
	}
	more := true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case !hasMessages(f):
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, one protoreflect.Value) bool {
				more = eachMessage(one.Message(), see)
				return more
			})
		case f.IsList():
			for i := 0; i < v.List().Len() && more; i++ {
				more = eachMessage(v.List().Get(i).Message(), see)
			}
		default:
			more = eachMessage(v.Message(), see)
		}
		return more
	})
	return more
}
