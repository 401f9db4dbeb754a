package driver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/gnmiclient"
)

// CommitConfirm is a router that implements gNMI's commit-confirmed extension: what drivers of all vendors do alike.
type CommitConfirm struct {
	Name   string
	Client *gnmiclient.Client
	// User is sent with every Set: metadata, as name and value in turn. NoMaster leaves master arbitration out.
	User     []string
	NoMaster bool
}

// Probe implements Driver. Extensions are not listed in Capabilities, and a target that ignores this one would never
// roll back. So Probe confirms a commit that cannot exist, with an empty Set: a target that honours the extension
// refuses, one that ignores it answers OK and changes nothing (gnmi.md section 2.2).
func (r CommitConfirm) Probe(ctx context.Context) error {
	err := r.set(ctx, Master{}, &gnmi.SetRequest{}, confirm("probe-"+rand.Text()))
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound:
		return nil
	case codes.OK, codes.Unimplemented:
		return fmt.Errorf("probe %s: %w", r.Name, ErrNoCommitConfirm)
	}
	return Lost(fmt.Errorf("probe %s for commit-confirm: %w", r.Name, err))
}

// Pending implements Driver. A confirmation of a commit that cannot exist is refused with FAILED_PRECONDITION where
// none waits, and with INVALID_ARGUMENT where another one does (gNMI commit-confirmed extension). What is pending is
// reported before its id is compared, so the answer is the same on a router that cannot confirm anything.
func (r CommitConfirm) Pending(ctx context.Context, as Master) (bool, error) {
	err := r.set(ctx, as, &gnmi.SetRequest{}, confirm("probe-"+rand.Text()))
	switch status.Code(err) {
	case codes.FailedPrecondition:
		return false, nil
	case codes.InvalidArgument:
		return true, nil
	case codes.OK, codes.Unimplemented, codes.NotFound, codes.PermissionDenied:
		return false, fmt.Errorf("%w: ask %s: %w: %w", ErrLost, r.Name, ErrPendingUnknown, err)
	}
	return false, fmt.Errorf("%w: ask %s whether a commit is pending: %w", ErrLost, r.Name, err)
}

// Send sends what a vendor makes of a commit's changes.
func (r CommitConfirm) Send(ctx context.Context, as Master, c Commit, req *gnmi.SetRequest) error {
	return Lost(r.set(ctx, as, req, &gnmi_ext.Commit{Id: c.ID, Action: &gnmi_ext.Commit_Commit{
		Commit: &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(c.Rollback)},
	}}))
}

// Confirm implements Driver.
func (r CommitConfirm) Confirm(ctx context.Context, as Master, id string) error {
	return r.finish(ctx, as, confirm(id))
}

// Cancel implements Driver.
func (r CommitConfirm) Cancel(ctx context.Context, as Master, id string) error {
	return r.finish(ctx, as, &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}})
}

// Close implements Driver.
func (r CommitConfirm) Close() error { return r.Client.Close() }

// finish ends a pending commit. FAILED_PRECONDITION: none is pending; INVALID_ARGUMENT: another one is.
func (r CommitConfirm) finish(ctx context.Context, as Master, c *gnmi_ext.Commit) error {
	err := r.set(ctx, as, &gnmi.SetRequest{}, c)
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound:
		return fmt.Errorf("%w: %w", ErrNotPending, err)
	}
	return Lost(err)
}

func (r CommitConfirm) set(ctx context.Context, as Master, req *gnmi.SetRequest, c *gnmi_ext.Commit) error {
	req.Extension = []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: c}}}
	if as.Role != "" && !r.NoMaster {
		req.Extension = append(req.Extension, &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{
			Role: &gnmi_ext.Role{Id: as.Role}, ElectionId: &gnmi_ext.Uint128{High: as.Term, Low: as.Turn},
		}}})
	}
	_, err := r.Client.Set(r.As(ctx), req)
	return err
}

// As is a context with the user.
func (r CommitConfirm) As(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, r.User...)
}

func confirm(id string) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}}
}

// Lost marks errors after which it is unknown whether the router carried out the request.
func Lost(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}
