package gnmi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/services/routeragent/apply"
)

// maxRollback: a commit that waits keeps all others from the router.
const maxRollback = 24 * time.Hour

// defaultRollback is the specification's, for a commit without a duration.
const defaultRollback = 10 * time.Minute

// extensions of a SetRequest that the agent knows.
type extensions struct {
	commit      *gnmi_ext.Commit
	duration    time.Duration
	arbitration *gnmi_ext.MasterArbitration
}

// refuse answers an extension that this call does not honour: one ignored is a promise broken.
func refuse(e *gnmi_ext.Extension, call string) error {
	name := fmt.Sprintf("%T", e.GetExt())
	switch x := e.GetExt().(type) {
	case nil:
		name = "one that is empty"
	case *gnmi_ext.Extension_History:
		name = "History (the agent keeps no history; the controller does)"
	case *gnmi_ext.Extension_ConfigSubscription:
		name = "ConfigSubscription (subscribe ON_CHANGE to configuration instead)"
	case *gnmi_ext.Extension_RegisteredExt:
		name = "registered extension " + x.RegisteredExt.GetId().String()
	case *gnmi_ext.Extension_Depth:
		name = "Depth (it is for Get and Subscribe)"
	case *gnmi_ext.Extension_Commit:
		name = "Commit (it is for Set)"
	case *gnmi_ext.Extension_MasterArbitration:
		name = "MasterArbitration (it is for Set)"
	}
	return status.Errorf(codes.Unimplemented, "extension not supported in %s: %s", call, name)
}

// checkTwice refuses an extension that is given twice: one of the two would be ignored.
func checkTwice(list []*gnmi_ext.Extension) error {
	seen := map[string]bool{}
	for _, e := range list {
		kind := fmt.Sprintf("%T", e.GetExt())
		if x := e.GetRegisteredExt(); x != nil {
			kind += x.GetId().String()
		}
		if seen[kind] {
			return status.Errorf(codes.InvalidArgument, "the extension %s is given twice", kind[strings.LastIndexByte(kind, '_')+1:])
		}
		seen[kind] = true
	}
	return nil
}

// readDepth takes the one extension that reading calls honour; 0 is no limit.
func readDepth(list []*gnmi_ext.Extension, call string) (int, error) {
	depth := 0
	if err := checkTwice(list); err != nil {
		return 0, err
	}
	for _, e := range list {
		d, ok := e.GetExt().(*gnmi_ext.Extension_Depth)
		if !ok {
			return 0, refuse(e, call)
		}
		depth = int(d.Depth.GetLevel())
	}
	return depth, nil
}

// readExtensions refuses what Set does not honour.
func readExtensions(list []*gnmi_ext.Extension) (extensions, error) {
	var out extensions
	if err := checkTwice(list); err != nil {
		return out, err
	}
	for _, e := range list {
		switch x := e.GetExt().(type) {
		case *gnmi_ext.Extension_Commit:
			out.commit = x.Commit
		case *gnmi_ext.Extension_MasterArbitration:
			out.arbitration = x.MasterArbitration
		case *gnmi_ext.Extension_Depth: // "the server should return an error"
			return out, status.Error(codes.InvalidArgument, "the Depth extension goes with Get and Subscribe only")
		default:
			return out, refuse(e, "Set")
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
	return e.setDuration(d)
}

// setDuration takes none as the default. A request with 0 is one of a client that always sends the field, such as
// gnmic, and says nothing either; to set a duration of 0 is forbidden (commit-confirmed 3.2.4).
func (e *extensions) setDuration(d *durationpb.Duration) error {
	e.duration = d.AsDuration()
	_, request := e.commit.GetAction().(*gnmi_ext.Commit_Commit)
	if d == nil || request && e.duration == 0 {
		e.duration = defaultRollback
	}
	if e.duration <= 0 {
		return status.Error(codes.InvalidArgument, "rollback duration must be more than zero")
	}
	if e.duration > maxRollback {
		return status.Errorf(codes.InvalidArgument, "rollback duration of %s is too long; the longest is %s", e.duration, maxRollback)
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
	if err != nil {
		err = &unfinished{err}
	}
	return true, err
}

// maxRoles bounds what clients can make the agent remember.
const maxRoles = 64

// election is master arbitration: of each role, the highest id seen may write
// (gnmi-master-arbitration section 3.2).
type election struct {
	mu    sync.Mutex
	roles map[string]uint128
}

type uint128 struct{ high, low uint64 }

func (a uint128) less(b uint128) bool { return a.high < b.high || a.high == b.high && a.low < b.low }

func (e *election) check(m *gnmi_ext.MasterArbitration) error {
	if m == nil {
		return nil
	}
	if m.GetElectionId() == nil {
		return status.Error(codes.InvalidArgument, "master arbitration without an election id")
	}
	role, id := m.GetRole().GetId(), uint128{m.GetElectionId().GetHigh(), m.GetElectionId().GetLow()}
	e.mu.Lock()
	defer e.mu.Unlock()
	stored, seen := e.roles[role]
	switch {
	case seen && id.less(stored):
		return status.Errorf(codes.PermissionDenied, "another client of role %q holds the election id high:%d low:%d", role, stored.high, stored.low)
	case !seen && len(e.roles) == maxRoles:
		return status.Errorf(codes.ResourceExhausted, "more than %d roles of master arbitration", maxRoles)
	case e.roles == nil:
		e.roles = map[string]uint128{}
	}
	e.roles[role] = id
	return nil
}
