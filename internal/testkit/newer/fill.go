package newer

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fill gives every field of a message a value, down to a depth; lists and maps get two elements that differ.
func Fill(m proto.Message, depth int) {
	n := 0
	fill(m.ProtoReflect(), depth, &n)
}

func fill(m protoreflect.Message, depth int, n *int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			for range 2 {
				m.Mutable(f).Map().Set(value(f.MapKey(), n).MapKey(), element(m.Mutable(f).Map().NewValue(), f.MapValue(), depth, n))
			}
		case f.IsList():
			for range 2 {
				m.Mutable(f).List().Append(element(m.Mutable(f).List().NewElement(), f, depth, n))
			}
		case f.Message() != nil:
			if depth > 0 {
				fill(m.Mutable(f).Message(), depth-1, n)
			}
		default:
			m.Set(f, value(f, n))
		}
	}
}

// element is one of a list or map.
func element(empty protoreflect.Value, f protoreflect.FieldDescriptor, depth int, n *int) protoreflect.Value {
	if f.Message() == nil {
		return value(f, n)
	}
	if depth > 0 {
		fill(empty.Message(), depth-1, n)
	}
	return empty
}

// value is another one each time, as far as the type has so many.
func value(f protoreflect.FieldDescriptor, n *int) protoreflect.Value {
	*n++
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(f.Enum().Values().Len() - 1).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprint("text ", *n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Append(nil, "octets ", *n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(*n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(*n))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(*n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(*n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(*n))
	default:
		return protoreflect.ValueOfInt64(int64(*n))
	}
}
