package rest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// A bound of a field that was renamed would be no bound.
func TestBoundsAreOfFieldsThatExist(t *testing.T) {
	messages := circuitsv1.File_millrace_circuits_v1_circuits_proto.Messages()
	names := slices.Concat(slices.Collect(maps.Keys(bounds)), slices.Collect(maps.Keys(amounts)))
	for message, fields := range required {
		for _, field := range fields {
			names = append(names, message+"."+field)
		}
	}
	for _, name := range names {
		message, field, _ := strings.Cut(name, ".")
		m := messages.ByName(protoreflect.Name(message))
		if m == nil || m.Fields().ByName(protoreflect.Name(field)) == nil {
			t.Errorf("there is no %s", name)
		}
	}
}
