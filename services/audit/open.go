package audit

import (
	"context"
	"maps"
	"sync"

	"github.com/millrace/millrace/internal/state"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

// open knows which calls have begun and have no record of their end. It reads each record once.
type open struct {
	mu   sync.Mutex
	seen uint64
	// calls that are open, with the numbers of their records.
	calls map[string]uint64
}

// look reads what was written since.
func (o *open) look(ctx context.Context, s *state.Store) (map[string]uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	part := state.Span{First: recordKey(o.seen + 1), End: recordsEnd, Limit: read}
	for {
		all, err := records(ctx, s, &part)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			o.take(r)
		}
		if len(all) < read {
			return maps.Clone(o.calls), nil
		}
		part.First = recordKey(o.seen + 1)
	}
}

func (o *open) take(r *auditv1.Record) {
	if o.calls == nil {
		o.calls = map[string]uint64{}
	}
	switch r.GetKind() {
	case auditv1.Kind_KIND_BEGUN:
		o.calls[r.GetCall()] = r.GetSeq()
	case auditv1.Kind_KIND_ENDED:
		delete(o.calls, r.GetCall())
	case auditv1.Kind_KIND_DROPPED:
		maps.DeleteFunc(o.calls, func(_ string, seq uint64) bool { return seq <= r.GetDroppedSeq() })
	}
	o.seen = r.GetSeq()
}
