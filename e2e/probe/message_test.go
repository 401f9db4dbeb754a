package probe

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// words are texts that are names, addresses and times here, and what is a trap for who builds a key, a path, a query or
// a line of them.
var words = []string{
	"", "wr", "er", "cr", "to-er", "astro", "ann", "probe", "hntes-two-queue", "none", "10.0.12.1", "10.1.0.0/24", "::1/128", "0.0.0.0/0", "300.1.1.1", "10.0.0.0/99", "2001:db8::/32",
	"../../etc/passwd", "/", "..", "a/b", "'; DROP TABLE flows; --", "' OR 1=1 --", "\\", "%s%n%d", "{{7*7}}", "${jndi:ldap://a}", "<script>alert(1)</script>", "a\x00b", "a\r\nSet-Cookie: b", "\u202e",
	"1h", "-1h", "9999999h", "5 * * * *", "UTC", "Europe/Berlin", "[a-", "(((((", "*", "NaN", "-1", "99999999999999999999", "c-1", strings.Repeat("a", 20_000), strings.Repeat("🜚", 2_000),
}

// source makes messages that a type allows; the same of one seed.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 1))} }

// fill gives about half of the fields values, down to a depth.
func (s source) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if s.IntN(2) == 0 {
			continue
		}
		switch {
		case f.IsMap():
			for range s.IntN(3) {
				v := m.Mutable(f).Map().NewValue()
				m.Mutable(f).Map().Set(s.value(f.MapKey()).MapKey(), s.element(v, f.MapValue(), depth))
			}
		case f.IsList():
			for range s.IntN(4) {
				m.Mutable(f).List().Append(s.element(m.Mutable(f).List().NewElement(), f, depth))
			}
		case f.Message() != nil:
			if depth > 0 {
				s.fill(m.Mutable(f).Message(), depth-1)
			}
		default:
			m.Set(f, s.value(f))
		}
	}
}

func (s source) element(empty protoreflect.Value, f protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	if f.Message() == nil {
		return s.value(f)
	}
	if depth > 0 {
		s.fill(empty.Message(), depth-1)
	}
	return empty
}

// whole are numbers at which something changes: of counts, of seconds (now, the last of year 9999), of types.
var whole = []int64{0, 1, -1, 2, 7, 24, 64, 100, 1000, 1 << 20, 1_000_000_000, 1_795_900_000, 253_402_300_799, 253_402_300_800, -62_135_596_801, math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxInt64, math.MinInt64}

var real = []float64{0, 1, -1, 0.5, 1e-300, 1e308, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}

func (s source) value(f protoreflect.FieldDescriptor) protoreflect.Value {
	n, x := whole[s.IntN(len(whole))], real[s.IntN(len(real))]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(s.IntN(2) == 0)
	case protoreflect.EnumKind:
		if s.IntN(4) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
		}
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(s.IntN(f.Enum().Values().Len())).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(words[s.IntN(len(words))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(words[s.IntN(len(words))]))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(x))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(x)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	default:
		return protoreflect.ValueOfInt64(n)
	}
}

// encoded is one message of a type.
func (s source) encoded(of protoreflect.MessageType) (proto.Message, []byte) {
	m := of.New()
	s.fill(m, 4)
	raw, err := proto.Marshal(m.Interface())
	if err != nil {
		panic(err) // texts are UTF-8
	}
	return m.Interface(), raw
}
