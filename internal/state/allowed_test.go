package state

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// What the table of kinds says of records is so of all that is written: a kind without a row cannot be.
func TestOnlyKindsOfRecordsAreWritten(t *testing.T) {
	for name, c := range map[string]struct {
		key      string
		revision int64
		record   proto.Message
		says     string
	}{
		"a record":                        {"changes/c-1", 7, &pushv1.ChangeSet{}, ""},
		"a key of no kind":                {"chances/c-1", 0, &pushv1.ChangeSet{}, "add a row to internal/state/kinds"},
		"a prefix alone":                  {"changes/", 0, &pushv1.ChangeSet{}, "add a row"},
		"another message":                 {"changes/c-1", 0, wrapperspb.Bytes([]byte("{}")), "its records are millrace.push.v1.ChangeSet"},
		"one that is written once":        {"freezes/all", 0, &pushv1.Freeze{}, ""},
		"and again":                       {"freezes/all", 7, &pushv1.Freeze{}, "are written once"},
		"and whatever there is":           {"freezes/all", anyRevision, &pushv1.Freeze{}, "are written once"},
		"a key between prefix and suffix": {"circuits/webhooks/astro/1f/position", 0, wrapperspb.Int64(1), ""},
		"and one without the suffix":      {"circuits/webhooks/astro/1f/place", 0, wrapperspb.Int64(1), "add a row"},
	} {
		anyKind = false
		err := allowed(c.key, c.revision, c.record)
		anyKind = true
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	for want, guards := range map[int64][]Guard{anyRevision: nil, 0: {{Key: "other", Revision: 5}}, 7: {{Key: "other", Revision: 5}, {Key: "key", Revision: 7}}} {
		if got := revisionOf("key", guards); got != want {
			t.Errorf("under %v the revision is %d, want %d", guards, got, want)
		}
	}
}
