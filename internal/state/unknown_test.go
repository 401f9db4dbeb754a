package state_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/state/kinds"
	"github.com/millrace/millrace/internal/testkit/newer"
)

// A record that is made anew from what this process knows of another one has that one's fields of a newer process.
func TestARecordThatIsMadeAnewKeepsFieldsOfANewerProcess(t *testing.T) {
	for _, kind := range kinds.All {
		t.Run(kind.Keys(), func(t *testing.T) {
			known := proto.Clone(kind.Record)
			newer.Fill(known, 3)
			was := proto.Clone(known)
			newer.Into(was)
			if len(newer.Lost(was, known)) == 0 {
				t.Fatal("the test does not see what is lost")
			}
			if !state.SameKnown(was, known) {
				t.Error("fields of a newer process are compared")
			}
			is := state.KeepUnknown(was, known)
			for _, lost := range newer.Lost(was, is) {
				t.Error(lost)
			}
			if !proto.Equal(was, is) {
				t.Errorf("%v, want %v", is, was)
			}
		})
	}
}
