package twin

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

// Each field of a plan's queue changes the queue that is simulated, or is refused; else it is left out in silence.
func TestEveryFieldOfAQueueIsRead(t *testing.T) {
	plain := &policyv1.Queue{Name: "be", Weight: 50, Buffer: 50}
	want, err := queueFromProto(plain)
	if err != nil {
		t.Fatal(err)
	}
	fields := plain.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		other := proto.Clone(plain).(*policyv1.Queue)
		m := other.ProtoReflect()
		switch {
		case f.IsList():
			list := m.Mutable(f).List()
			list.Append(list.NewElement())
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString("low"))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		default:
			m.Set(f, protoreflect.ValueOfUint32(7))
		}
		if got, err := queueFromProto(other); err == nil && reflect.DeepEqual(got, want) {
			t.Errorf("queueFromProto does not read %s", f.Name())
		}
	}
}
