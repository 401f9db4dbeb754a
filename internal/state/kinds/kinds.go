// Package kinds lists every kind of record that Millrace keeps in etcd.
//
// In: a key, without /millrace/. Out: its row: which message its value is, how it is written, and the test that shows
// that an older process leaves a newer one's fields. Next: internal/state refuses to write what has no row, and
// docs/reference/kept-data.md has the table.
package kinds

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	statev1 "github.com/millrace/millrace/proto/gen/millrace/state/v1"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// Writing is how the records of a kind are written.
type Writing string

const (
	// Changed records are read, changed and written back. What a newer process has added stays in them.
	Changed Writing = "changed"
	// Once records are written once and only deleted after that; internal/state refuses to write over one.
	Once Writing = "once"
	// Replaced records are written as a whole by the process that knows all of it now: nothing of the one before is
	// kept.
	Replaced Writing = "replaced"
)

// Kind is one row.
type Kind struct {
	// Prefix begins its keys, and Suffix ends them; a kind of one key has it as the prefix, and One set.
	Prefix, Suffix string
	One            bool
	// Record is an empty message of the type of its values.
	Record  proto.Message
	Writing Writing
	// Owner is the folder of the only writer.
	Owner string
	// Test shows for a Changed kind that fields of a newer process stay.
	Test string
}

// unknown is what the test of an owner is called.
const unknown = "TestFieldsOfANewerProcessStay"

// All are all kinds.
var All = []Kind{
	{Prefix: "form", One: true, Record: &statev1.Form{}, Writing: Changed, Owner: "internal/state", Test: unknown},
	{Prefix: "installation", One: true, Record: &structpb.Struct{}, Writing: Changed, Owner: "cmd/millrace", Test: unknown},
	{Prefix: "identity", One: true, Record: &wrapperspb.StringValue{}, Writing: Replaced, Owner: "services/push"},
	{Prefix: "changes/", Record: &pushv1.ChangeSet{}, Writing: Changed, Owner: "services/push", Test: unknown},
	{Prefix: "change-contents/", Record: &wrapperspb.BytesValue{}, Writing: Replaced, Owner: "services/push"},
	{Prefix: "aborts/", Record: &pushv1.Approval{}, Writing: Replaced, Owner: "services/push"},
	{Prefix: "freezes/", Record: &pushv1.Freeze{}, Writing: Once, Owner: "services/push"},
	{Prefix: "drift/", Record: &pushv1.Drift{}, Writing: Changed, Owner: "services/push", Test: unknown},
	{Prefix: "alpha/current", One: true, Record: &alphav1.Generation{}, Writing: Changed, Owner: "services/alpha", Test: unknown},
	{Prefix: "alpha/pairs/", Record: &alphav1.Pair{}, Writing: Changed, Owner: "services/alpha", Test: unknown},
	{Prefix: "alpha/schedule", One: true, Record: &alphav1.Schedule{}, Writing: Changed, Owner: "services/alpha", Test: unknown},
	{Prefix: "alpha/now/", Record: &alphav1.AlphaNow{}, Writing: Changed, Owner: "services/alpha", Test: unknown},
	{Prefix: "alpha/effectiveness", One: true, Record: &alphav1.EffectivenessState{}, Writing: Changed, Owner: "services/alpha", Test: unknown},
	{Prefix: "circuits/book/records/", Record: &circuitsv1.Record{}, Writing: Changed, Owner: "services/circuits", Test: unknown},
	{Prefix: "circuits/book/maintenance/", Record: &circuitsv1.Maintenance{}, Writing: Changed, Owner: "services/circuits", Test: unknown},
	{Prefix: "circuits/book/version", One: true, Record: &circuitsv1.Version{}, Writing: Replaced, Owner: "services/circuits"},
	{Prefix: "circuits/claims/", Record: &circuitsv1.Claim{}, Writing: Once, Owner: "services/circuits"},
	{Prefix: "circuits/webhooks/", Suffix: "/position", Record: &wrapperspb.Int64Value{}, Writing: Replaced, Owner: "services/circuits"},
	{Prefix: "nsi/connections/", Record: &nsiv1.Connection{}, Writing: Changed, Owner: "services/nsi", Test: unknown},
	{Prefix: "nsi/requests/", Record: &nsiv1.Taken{}, Writing: Once, Owner: "services/nsi"},
	{Prefix: "nsi/answers/", Record: &nsiv1.Message{}, Writing: Replaced, Owner: "services/nsi"},
	{Prefix: "identity/users/", Record: &identityv1.UserRecord{}, Writing: Changed, Owner: "services/identity", Test: unknown},
	{Prefix: "identity/sessions/", Record: &identityv1.SessionRecord{}, Writing: Changed, Owner: "services/identity", Test: unknown},
	{Prefix: "identity/tokens/", Record: &identityv1.TokenRecord{}, Writing: Changed, Owner: "services/identity", Test: unknown},
	{Prefix: "identity/subjects/", Record: &identityv1.SubjectRecord{}, Writing: Changed, Owner: "services/identity", Test: unknown},
	{Prefix: "identity/links/", Record: &identityv1.LinkRecord{}, Writing: Once, Owner: "services/identity"},
	{Prefix: "identity/flows/", Record: &identityv1.FlowRecord{}, Writing: Once, Owner: "services/identity"},
	{Prefix: "audit/records/", Record: &auditv1.Record{}, Writing: Once, Owner: "services/audit"},
	{Prefix: "audit/head", One: true, Record: &auditv1.Mark{}, Writing: Replaced, Owner: "services/audit"},
	{Prefix: "audit/anchor", One: true, Record: &auditv1.Mark{}, Writing: Replaced, Owner: "services/audit"},
	{Prefix: "vpn/changes/", Record: &vpnv1.Change{}, Writing: Once, Owner: "services/vpn"},
	{Prefix: "flow/exporters/", Record: &flowv1.SharedSession{}, Writing: Changed, Owner: "collectors/flow", Test: unknown},
	{Prefix: "telemetry/devices/", Record: &telemetryv1.Device{}, Writing: Replaced, Owner: "collectors/telemetry"},
}

// Of is the kind of a key.
func Of(key string) (Kind, bool) {
	for _, k := range All {
		if k.has(key) {
			return k, true
		}
	}
	return Kind{}, false
}

func (k Kind) has(key string) bool {
	if k.One {
		return key == k.Prefix
	}
	return len(key) > len(k.Prefix)+len(k.Suffix) && strings.HasPrefix(key, k.Prefix) && strings.HasSuffix(key, k.Suffix)
}

// Keys is how the page names its keys.
func (k Kind) Keys() string {
	if k.One {
		return k.Prefix
	}
	return k.Prefix + "…" + k.Suffix
}
