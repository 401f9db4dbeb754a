package state

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state/kinds"
)

// anyKind is true in this package's own tests alone.
var anyKind bool

// anyRevision is that of a write that does not depend on one.
const anyRevision = -1

// allowed refuses a record that the table of kinds lacks, one of another message, and one over another one of a kind
// whose records never change: what the table says holds of all that is written.
func allowed(key string, revision int64, m proto.Message) error {
	if anyKind {
		return nil
	}
	kind, known := kinds.Of(key)
	switch {
	case !known:
		return fmt.Errorf("write %s to etcd: no kind of record has such a key; add a row to internal/state/kinds", key)
	case kind.Record.ProtoReflect().Descriptor() != m.ProtoReflect().Descriptor():
		return fmt.Errorf("write %s to etcd: its records are %s, and this is %s; see internal/state/kinds", key,
			kind.Record.ProtoReflect().Descriptor().FullName(), m.ProtoReflect().Descriptor().FullName())
	case kind.Writing == kinds.Once && revision != 0:
		return fmt.Errorf("write %s to etcd: records of %s are written once; see internal/state/kinds", key, kind.Keys())
	}
	return nil
}
