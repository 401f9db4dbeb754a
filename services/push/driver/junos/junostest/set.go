package junostest

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/internal/junosconf/lint"
)

// admit checks the account that goes with the certificate.
func (r *Router) admit(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	user, password := strings.Join(md.Get("username"), ""), strings.Join(md.Get("password"), "")
	if r.has(WantsPassword) && (user != "millrace" || password != Password) {
		return status.Error(codes.Unauthenticated, "no such user")
	}
	return nil
}

// Set implements gNMI with the Commit extension.
func (r *Router) Set(ctx context.Context, req *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	if err := r.admit(ctx); err != nil {
		return nil, err
	}
	commit := commitOf(req)
	if r.has(IgnoresCommit) {
		commit = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	switch action := commit.GetAction().(type) {
	case *gnmi_ext.Commit_Confirm:
		err = r.finish(commit.GetId(), false)
	case *gnmi_ext.Commit_Cancel:
		err = r.finish(commit.GetId(), true)
	case *gnmi_ext.Commit_Commit:
		err = r.write(req, commit.GetId(), action.Commit.GetRollbackDuration().AsDuration())
	default:
		err = r.write(req, "", 0)
	}
	if err != nil {
		return nil, err
	}
	return &gnmi.SetResponse{Timestamp: time.Now().UnixNano()}, nil
}

func commitOf(req *gnmi.SetRequest) *gnmi_ext.Commit {
	for _, e := range req.GetExtension() {
		if c := e.GetCommit(); c != nil {
			return c
		}
	}
	return nil
}

// finish ends the pending commit, with what it replaced or without.
func (r *Router) finish(id string, restore bool) error {
	switch {
	case r.pending == nil:
		return status.Error(codes.FailedPrecondition, "no commit is pending")
	case r.pending.id != id:
		return status.Errorf(codes.InvalidArgument, "commit %s is pending, not %s", r.pending.id, id)
	}
	r.pending.timer.Stop()
	if restore {
		r.config = r.pending.before
	}
	r.pending = nil
	return nil
}

// Expire is the end of the time a commit waits for its confirmation: what is pending is rolled back.
func (r *Router) Expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil {
		r.finish(r.pending.id, true) //nolint:errcheck // it is pending
	}
}

// expire is finish by the clock.
func (r *Router) expire(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(id, true) //nolint:errcheck // it may be confirmed by now
}

// write loads and commits, all or nothing.
func (r *Router) write(req *gnmi.SetRequest, id string, d time.Duration) error {
	if r.pending != nil {
		return status.Errorf(codes.FailedPrecondition, "commit %s is pending", r.pending.id)
	}
	if len(req.GetUpdate())+len(req.GetReplace())+len(req.GetDelete()) == 0 {
		return nil
	}
	next, texts := r.config.Clone(), []string{}
	for _, u := range req.GetReplace() {
		if u.GetPath().GetOrigin() == "cli" {
			return status.Error(codes.Unimplemented, "replace of origin cli would replace the whole configuration")
		}
	}
	for _, u := range append(req.GetReplace(), req.GetUpdate()...) {
		switch u.GetPath().GetOrigin() {
		case "cli":
			text := u.GetVal().GetAsciiVal()
			if err := r.load(next, text); err != nil {
				return status.Errorf(codes.InvalidArgument, "load: %v", err)
			}
			texts = append(texts, text)
		case "", "openconfig":
			if err := checkOpenConfig(u); err != nil {
				return err
			}
		default: // origins that name a module (pygnmi issue 11)
			return status.Errorf(codes.InvalidArgument, "origin %s is not known", u.GetPath().GetOrigin())
		}
	}
	if err := lint.Error(lint.Check(next)); err != nil {
		return status.Errorf(codes.Aborted, "commit check failed: %v", err)
	}
	if id != "" {
		r.pending = &pending{id: id, before: r.config}
		r.pending.timer = time.AfterFunc(d, func() { r.expire(id) })
	}
	r.config, r.sent = next, append(r.sent, texts...)
	return nil
}

func (r *Router) load(t *junosconf.Tree, text string) error {
	lines := strings.HasPrefix(text, "set ") || strings.HasPrefix(text, "delete ")
	if lines && r.quirks[RefusesLines] {
		return status.Error(codes.InvalidArgument, "syntax error")
	}
	if lines && r.quirks[IgnoresDelete] {
		var kept []string
		for _, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, "delete ") {
				kept = append(kept, line)
			}
		}
		text = strings.Join(kept, "\n")
	}
	return t.Load(text)
}

// checkOpenConfig refuses what Junos refuses by featureprofiles' metadata: weights over 100
// (scheduler_input_weight_limit) and queues without an id (qos_queue_requires_id).
func checkOpenConfig(u *gnmi.Update) error {
	raw := u.GetVal().GetJsonIetfVal()
	if len(raw) == 0 {
		raw = u.GetVal().GetJsonVal()
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return status.Errorf(codes.InvalidArgument, "no JSON: %v", err)
	}
	return look(v, "")
}

func look(v any, under string) error {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			if err := look(each, under); err != nil {
				return err
			}
		}
	case map[string]any:
		config, _ := v["config"].(map[string]any)
		if weight, ok := config["weight"].(string); ok && (len(weight) > 3 || len(weight) == 3 && weight > "100") {
			return status.Errorf(codes.InvalidArgument, "weight %s is over 100", weight)
		}
		if _, ok := config["queue-id"]; under == "queue" && config != nil && !ok && len(config) == 1 {
			return status.Errorf(codes.InvalidArgument, "queue %v has no queue-id", v["name"])
		}
		for name, inner := range v {
			if err := look(inner, name[strings.LastIndex(name, ":")+1:]); err != nil {
				return err
			}
		}
	}
	return nil
}
