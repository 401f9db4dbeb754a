package openconfig

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/services/push/driver"
)

func extension(as driver.Master, c *gnmi_ext.Commit) []*gnmi_ext.Extension {
	out := []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: c}}}
	if as.Role != "" {
		out = append(out, &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{
			Role: &gnmi_ext.Role{Id: as.Role}, ElectionId: &gnmi_ext.Uint128{High: as.Term, Low: as.Turn},
		}}})
	}
	return out
}

func confirm(id string) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}}
}

// Probe implements driver.Driver. Extensions are not listed in Capabilities,
// and a target that ignores this one would never roll back. So Probe confirms a
// commit that cannot exist, with an empty Set: a target that honours the
// extension refuses, one that ignores it answers OK and changes nothing.
func (r *router) Probe(ctx context.Context) error {
	_, err := r.client.Set(ctx, &gnmi.SetRequest{Extension: extension(driver.Master{}, confirm("probe-"+rand.Text()))})
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound:
		return nil
	case codes.OK, codes.Unimplemented:
		return fmt.Errorf("probe %s: %w", r.name, driver.ErrNoCommitConfirm)
	}
	return lost(fmt.Errorf("probe %s for commit-confirm: %w", r.name, err))
}

// Pending implements driver.Driver. A confirmation of a commit that cannot exist is refused with FAILED_PRECONDITION
// where none waits, and with INVALID_ARGUMENT where another one does (gNMI commit-confirmed extension). What is
// pending is reported before its id is compared, so the answer is the same on a router that cannot confirm anything.
func (r *router) Pending(ctx context.Context, as driver.Master) (bool, error) {
	_, err := r.client.Set(ctx, &gnmi.SetRequest{Extension: extension(as, confirm("probe-"+rand.Text()))})
	switch status.Code(err) {
	case codes.FailedPrecondition:
		return false, nil
	case codes.InvalidArgument:
		return true, nil
	}
	return false, fmt.Errorf("%w: ask %s whether a commit is pending: %w", driver.ErrLost, r.name, err)
}

// Commit implements driver.Driver.
func (r *router) Commit(ctx context.Context, as driver.Master, c driver.Commit) error {
	req := &gnmi.SetRequest{Extension: extension(as, &gnmi_ext.Commit{Id: c.ID, Action: &gnmi_ext.Commit_Commit{
		Commit: &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(c.Rollback)},
	}})}
	for _, change := range c.Changes {
		if err := addChange(req, change); err != nil {
			return err
		}
	}
	_, err := r.client.Set(ctx, req)
	return lost(err)
}

// Confirm implements driver.Driver.
func (r *router) Confirm(ctx context.Context, as driver.Master, id string) error {
	return r.finish(ctx, as, confirm(id))
}

// Cancel implements driver.Driver.
func (r *router) Cancel(ctx context.Context, as driver.Master, id string) error {
	return r.finish(ctx, as, &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}})
}

// finish ends a pending commit. FAILED_PRECONDITION: none is pending;
// INVALID_ARGUMENT: another one is (gNMI commit-confirmed extension).
func (r *router) finish(ctx context.Context, as driver.Master, c *gnmi_ext.Commit) error {
	_, err := r.client.Set(ctx, &gnmi.SetRequest{Extension: extension(as, c)})
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound:
		return fmt.Errorf("%w: %w", driver.ErrNotPending, err)
	}
	return lost(err)
}
