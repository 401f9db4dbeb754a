package routeragent

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/gnmiclient"
)

// An audit line is written for every login, every call that is refused, every stream that is ended, and every Set, with
// client, address and result.
const auditMessage = "audit"

func (c client) attributes(call string) []any {
	return []any{"call", call, "client", c.name, "role", c.role, "address", c.address}
}

func (a *Agent) auditRefusal(c client, call string, err error) {
	a.deps.Log.Warn(auditMessage, append(c.attributes(call), "event", "refused", "result", status.Code(err).String(), "error", status.Convert(err).Message())...)
}

func (a *Agent) auditEnd(c client, call string, err error) {
	a.deps.Log.Warn(auditMessage, append(c.attributes(call), "event", "ended", "result", status.Code(err).String(), "error", status.Convert(err).Message())...)
}

func (a *Agent) auditLogin(c client, call string) {
	a.deps.Log.Info(auditMessage, append(c.attributes(call), "event", "login", "by", c.by, "result", codes.OK.String())...)
}

// audit writes down what a Set did, or why it did nothing.
func (a *Agent) audit(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	set, ok := req.(*gnmi.SetRequest)
	if !ok {
		return resp, err
	}
	c, _ := ctx.Value(clientKey{}).(client)
	event, commit := action(set)
	paths, operations := pathsOf(set)
	line := append(c.attributes(path.Base(info.FullMethod)), "event", event, "commit", commit, "operations", operations, "paths", paths, "result", status.Code(err).String())
	level := slog.LevelInfo
	if err != nil {
		level, line = slog.LevelWarn, append(line, "error", status.Convert(err).Message())
	}
	a.deps.Log.Log(ctx, level, auditMessage, line...)
	return resp, err
}

// action is what a Set requests, named as its Commit extension names it if it has one.
func action(req *gnmi.SetRequest) (event, commit string) {
	event = "set"
	for _, e := range req.GetExtension() {
		c := e.GetCommit()
		switch c.GetAction().(type) {
		case *gnmi_ext.Commit_Commit:
			event = "commit"
		case *gnmi_ext.Commit_Confirm:
			event = "confirm"
		case *gnmi_ext.Commit_Cancel:
			event = "cancel"
		case *gnmi_ext.Commit_SetRollbackDuration:
			event = "set_rollback_duration"
		}
		if c != nil {
			commit = c.GetId()
		}
	}
	return event, commit
}

// auditPaths are written down; of a Set with more, their number.
const auditPaths = 10

// pathsOf lists operations in the order in which they are performed.
func pathsOf(req *gnmi.SetRequest) (text string, operations int) {
	var all []string
	add := func(op string, p *gnmi.Path) {
		if operations++; operations > auditPaths {
			return
		}
		full := &gnmi.Path{Elem: append(append([]*gnmi.PathElem{}, req.GetPrefix().GetElem()...), p.GetElem()...)}
		s, err := gnmiclient.FormatPath(full)
		if err != nil {
			s = full.String()
		}
		all = append(all, op+" "+s)
	}
	for _, p := range req.GetDelete() {
		add("delete", p)
	}
	for _, kind := range []struct {
		op   string
		list []*gnmi.Update
	}{{"union_replace", req.GetUnionReplace()}, {"replace", req.GetReplace()}, {"update", req.GetUpdate()}} {
		for _, u := range kind.list {
			add(kind.op, u.GetPath())
		}
	}
	if operations > auditPaths {
		all = append(all, fmt.Sprintf("and %d more", operations-auditPaths))
	}
	return strings.Join(all, ", "), operations
}
