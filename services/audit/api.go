package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	"github.com/millrace/millrace/proto/gen/millrace/audit/v1/auditv1connect"
)

// api is AuditService.
type api struct{ *Component }

var _ auditv1connect.AuditServiceHandler = (*api)(nil)

var errOff = connect.NewError(connect.CodeFailedPrecondition, errors.New("there is no audit log here: identity.mode is off, so nobody is known"))

const (
	pageDefault = 100
	pageMax     = 1000
	// read is how many records are read at once.
	read = 500
)

// List implements AuditService.
func (a *api) List(ctx context.Context, r *connect.Request[auditv1.ListRequest]) (*connect.Response[auditv1.ListResponse], error) {
	if !a.deps.On {
		return nil, errOff
	}
	running, err := a.open.look(ctx, a.deps.State)
	if err != nil {
		return nil, away(err)
	}
	limit := int(min(cmp.Or(r.Msg.GetLimit(), pageDefault), pageMax))
	out := &auditv1.ListResponse{}
	part := state.Span{First: recordsPrefix, End: recordsEnd, Limit: read, Descending: true}
	if r.Msg.GetBefore() > 0 {
		part.End = recordKey(r.Msg.GetBefore())
	}
	for {
		records, err := records(ctx, a.deps.State, &part)
		if err != nil {
			return nil, away(err)
		}
		for _, record := range records {
			if len(out.Records) == limit {
				return connect.NewResponse(out), nil
			}
			if wanted(record, r.Msg, running) {
				out.Records, out.Before = append(out.Records, record), record.GetSeq()
			}
		}
		if len(records) < read {
			out.Before = 0
			return connect.NewResponse(out), nil
		}
		part.End = recordKey(records[len(records)-1].GetSeq())
	}
}

// wanted leaves out what has a record of its end.
func wanted(r *auditv1.Record, q *auditv1.ListRequest, running map[string]uint64) bool {
	if r.GetKind() == auditv1.Kind_KIND_BEGUN && running[r.GetCall()] == 0 {
		return false
	}
	has := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	return has(r.GetUser(), q.GetUser()) && has(r.GetProcedure(), q.GetProcedure())
}

// records reads a span, and sets its revision.
func records(ctx context.Context, s *state.Store, part *state.Span) (out []*auditv1.Record, err error) {
	entries, revision, err := s.Read(ctx, *part)
	if err != nil {
		return nil, err
	}
	part.Revision = revision
	for _, e := range entries {
		r := &auditv1.Record{}
		if err := proto.Unmarshal(e.Value, r); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Export implements AuditService. All is read as of one revision of etcd.
func (a *api) Export(ctx context.Context, _ *connect.Request[auditv1.ExportRequest], s *connect.ServerStream[auditv1.ExportResponse]) error {
	if !a.deps.On {
		return errOff
	}
	marks, revision, err := a.deps.State.Read(ctx, state.Span{First: anchorKey, End: headKey + "\x00"})
	if err != nil {
		return away(err)
	}
	anchor, head := &auditv1.Mark{}, &auditv1.Mark{}
	for _, e := range marks {
		if err := proto.Unmarshal(e.Value, map[string]*auditv1.Mark{anchorKey: anchor, headKey: head}[e.Key]); err != nil {
			return away(fmt.Errorf("decode %s: %w", e.Key, err))
		}
	}
	if err := s.Send(&auditv1.ExportResponse{Line: &auditv1.ExportResponse_Anchor{Anchor: anchor}}); err != nil {
		return err
	}
	if err := a.exportRecords(ctx, revision, s); err != nil {
		return err
	}
	return s.Send(&auditv1.ExportResponse{Line: &auditv1.ExportResponse_Head{Head: head}})
}

// exportRecords sends records as their keys sort, whatever number is in them.
func (a *api) exportRecords(ctx context.Context, revision int64, s *connect.ServerStream[auditv1.ExportResponse]) error {
	part := state.Span{First: recordsPrefix, End: recordsEnd, Limit: read, Revision: revision}
	for {
		entries, _, err := a.deps.State.Read(ctx, part)
		if err != nil {
			return away(err)
		}
		for _, e := range entries {
			r := &auditv1.Record{}
			if err := proto.Unmarshal(e.Value, r); err != nil {
				return away(fmt.Errorf("decode %s: %w", e.Key, err))
			}
			if err := s.Send(&auditv1.ExportResponse{Line: &auditv1.ExportResponse_Record{Record: r}}); err != nil {
				return err
			}
			part.First = e.Key + "\x00"
		}
		if len(entries) < read {
			return nil
		}
	}
}

func away(err error) error {
	return connect.NewError(connect.CodeUnavailable, fmt.Errorf("the audit log cannot be read: %w", err))
}
