package pushtest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/gnmiclient"
)

func formatPath(p *gnmi.Path) (string, error) {
	path, err := gnmiclient.FormatPath(p)
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}
	return path, nil
}

// Set implements gNMI with the Commit extension (gnmi.md section 4.2, checks 31 and 32).
func (r *Router) Set(ctx context.Context, req *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	commit := commitOf(req)
	if err := r.arbitrate(req); err != nil {
		return nil, err
	}
	if r.has(IgnoreExtensions) {
		commit = nil
	}
	switch action := commit.GetAction().(type) {
	case *gnmi_ext.Commit_Confirm:
		return r.confirm(ctx, commit.GetId())
	case *gnmi_ext.Commit_Cancel:
		if r.has(CancelFails) && r.pendingID() == commit.GetId() {
			return nil, r.refuse(codes.Aborted, "the former state could not be restored yet")
		}
		r.at(BeforeCancel)
		return reply(r.finish(commit.GetId(), true))
	case *gnmi_ext.Commit_Commit:
		return r.commit(ctx, req, commit.GetId(), action.Commit.GetRollbackDuration().AsDuration())
	}
	return reply(r.write(req, "", 0))
}

// arbitrate refuses who was master before the last one (gnmi-master-arbitration section 3.2).
func (r *Router) arbitrate(req *gnmi.SetRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range req.GetExtension() {
		m := e.GetMasterArbitration()
		if m == nil {
			continue
		}
		id := [2]uint64{m.GetElectionId().GetHigh(), m.GetElectionId().GetLow()}
		role := m.GetRole().GetId()
		stored := r.elections[role]
		if slices.Compare(id[:], stored[:]) < 0 {
			return status.Errorf(codes.PermissionDenied, "another client of role %s holds the election id %d", role, stored)
		}
		r.elections[role] = id
	}
	return nil
}

func commitOf(req *gnmi.SetRequest) *gnmi_ext.Commit {
	for _, e := range req.GetExtension() {
		if c := e.GetCommit(); c != nil {
			return c
		}
	}
	return nil
}

func reply(err error) (*gnmi.SetResponse, error) {
	if err != nil {
		return nil, err
	}
	return &gnmi.SetResponse{Timestamp: time.Now().UnixNano()}, nil
}

// hang does not answer. It ends with the connection, or with TimeOut: the caller's call then
// ends as gRPC ends one whose time-out has passed, without the test having to wait for that.
func (r *Router) hang(ctx context.Context) (*gnmi.SetResponse, error) {
	r.addHanging(1)
	defer r.addHanging(-1)
	select {
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-r.timeouts:
		return nil, status.Error(codes.DeadlineExceeded, "no answer in time")
	}
}

func (r *Router) addHanging(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hanging += n
}

func (r *Router) commit(ctx context.Context, req *gnmi.SetRequest, id string, d time.Duration) (*gnmi.SetResponse, error) {
	if r.once(RefuseCommit) {
		return nil, status.Error(codes.InvalidArgument, "/qos/queues/queue[name=te-alpha]: this platform has one queue")
	}
	if r.once(HangBeforeCommit) {
		return r.hang(ctx)
	}
	r.at(BeforeCommit)
	err := r.write(req, id, d)
	if err == nil {
		r.at(AfterCommit)
	}
	if err == nil && r.once(HangAfterCommit) {
		return r.hang(ctx)
	}
	if err == nil && r.once(DieAfterCommit) {
		go r.Down()
		return r.hang(ctx)
	}
	return reply(err)
}

func (r *Router) confirm(ctx context.Context, id string) (*gnmi.SetResponse, error) {
	r.mu.Lock()
	ours := r.pending != nil && r.pending.id == id
	r.mu.Unlock()
	switch {
	case ours && r.has(ConfirmFails):
		return nil, r.refuse(codes.InvalidArgument, "write /var/lib/router/running.json: no space left on device")
	case ours && r.once(HangAtConfirm):
		return r.hang(ctx)
	case ours && r.once(DieAtConfirm):
		go r.Down()
		return r.hang(ctx)
	case ours && r.once(LoseConfirm):
		if err := r.finish(id, false); err != nil {
			return nil, err
		}
		return r.hang(ctx)
	}
	if ours { // and no check whether the router implements the extension
		r.at(BeforeConfirm)
	}
	err := r.finish(id, false)
	if err == nil {
		r.at(AfterConfirm)
	}
	return reply(err)
}

func (r *Router) refuse(code codes.Code, why string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
	return status.Error(code, why)
}

// finish ends the pending commit, with what it replaced or without.
func (r *Router) finish(id string, restore bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.pending == nil:
		return status.Error(codes.FailedPrecondition, "no commit is pending")
	case r.pending.id != id:
		return status.Errorf(codes.InvalidArgument, "commit %s is pending, not %s", r.pending.id, id)
	}
	r.pending.timer.Stop()
	if restore {
		r.entries = r.pending.before
	}
	r.pending = nil
	return nil
}

// write makes a Set: deletes, then replaces, all or nothing.
func (r *Router) write(req *gnmi.SetRequest, id string, d time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil {
		return status.Errorf(codes.FailedPrecondition, "commit %s is pending", r.pending.id)
	}
	next := maps.Clone(r.entries)
	for _, p := range req.GetDelete() {
		path, err := formatPath(p)
		if err != nil {
			return err
		}
		if err := edit(next, path, ""); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
	}
	for _, u := range req.GetReplace() {
		path, err := formatPath(u.GetPath())
		if err != nil {
			return err
		}
		body, err := configentry.Canonical(u.GetVal().GetJsonIetfVal())
		if err == nil {
			err = edit(next, path, body)
		}
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
	}
	if len(req.GetDelete())+len(req.GetReplace()) > 0 {
		r.commits++
	}
	if id != "" {
		r.pending = &pending{id: id, before: r.entries}
		r.pending.timer = time.AfterFunc(d, func() { r.finish(id, true) }) //nolint:errcheck // it may be confirmed by now
	}
	r.entries = next
	return nil
}
