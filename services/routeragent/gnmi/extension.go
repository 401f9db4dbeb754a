package gnmi

import (
	"context"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/services/routeragent/apply"
)

// defaultRollback is the specification's, for a commit without a duration.
const defaultRollback = 10 * time.Minute

// extensions of a SetRequest that the agent knows.
type extensions struct {
	commit      *gnmi_ext.Commit
	duration    time.Duration
	arbitration *gnmi_ext.MasterArbitration
}

// readExtensions refuses what it does not know: an extension ignored is a promise broken.
func readExtensions(list []*gnmi_ext.Extension) (extensions, error) {
	var out extensions
	for _, e := range list {
		switch x := e.GetExt().(type) {
		case *gnmi_ext.Extension_Commit:
			out.commit = x.Commit
		case *gnmi_ext.Extension_MasterArbitration:
			out.arbitration = x.MasterArbitration
		default:
			return out, status.Errorf(codes.Unimplemented, "extension %T is not supported", x)
		}
	}
	return out, out.checkCommit()
}

func (e *extensions) checkCommit() error {
	if e.commit == nil {
		return nil
	}
	if e.commit.GetId() == "" {
		return status.Error(codes.InvalidArgument, "commit extension without an id")
	}
	var d *durationpb.Duration
	switch a := e.commit.GetAction().(type) {
	case *gnmi_ext.Commit_Commit:
		d = a.Commit.GetRollbackDuration()
	case *gnmi_ext.Commit_SetRollbackDuration:
		if d = a.SetRollbackDuration.GetRollbackDuration(); d == nil {
			return status.Error(codes.InvalidArgument, "set_rollback_duration without a duration")
		}
	case *gnmi_ext.Commit_Confirm, *gnmi_ext.Commit_Cancel:
	default:
		return status.Error(codes.InvalidArgument, "commit extension without an action")
	}
	e.duration = defaultRollback
	if d != nil {
		e.duration = d.AsDuration()
	}
	if e.duration <= 0 {
		return status.Error(codes.InvalidArgument, "rollback duration must be more than zero")
	}
	return nil
}

// confirmation is what a commit action asks of the store; nil for a plain Set.
func (e extensions) confirmation() *apply.Confirmation {
	if _, ok := e.commit.GetAction().(*gnmi_ext.Commit_Commit); ok {
		return &apply.Confirmation{ID: e.commit.GetId(), Duration: e.duration}
	}
	return nil
}

// commitAction performs confirm, cancel and set_rollback_duration, which carry
// no operations; done is false for a Set that changes configuration.
func (s *Server) commitAction(ctx context.Context, e extensions, operations int) (done bool, err error) {
	id := e.commit.GetId()
	if e.commit != nil && e.confirmation() == nil && operations > 0 {
		return true, status.Error(codes.InvalidArgument, "confirm, cancel and set_rollback_duration go without operations")
	}
	switch e.commit.GetAction().(type) {
	case *gnmi_ext.Commit_Confirm:
		err = s.deps.Store.Confirm(id)
	case *gnmi_ext.Commit_Cancel:
		err = s.deps.Store.Cancel(ctx, id)
	case *gnmi_ext.Commit_SetRollbackDuration:
		err = s.deps.Store.Extend(id, e.duration)
	default:
		return false, nil
	}
	return true, err
}

// election is master arbitration for the default role: the highest id seen may write.
type election struct {
	mu        sync.Mutex
	high, low uint64
	seen      bool
}

func (e *election) check(m *gnmi_ext.MasterArbitration) error {
	if m == nil {
		return nil
	}
	if m.GetElectionId() == nil {
		return status.Error(codes.InvalidArgument, "master arbitration without an election id")
	}
	if m.GetRole().GetId() != "" {
		return status.Errorf(codes.Unimplemented, "role %q: only the default role is supported", m.GetRole().GetId())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	high, low := m.GetElectionId().GetHigh(), m.GetElectionId().GetLow()
	if e.seen && (high < e.high || high == e.high && low < e.low) {
		return status.Error(codes.PermissionDenied, "another client holds a higher election id")
	}
	e.high, e.low, e.seen = high, low, true
	return nil
}
