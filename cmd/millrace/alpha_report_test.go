package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// nightlyRuns answers as a control plane whose nightly run found a pair.
type nightlyRuns struct {
	alphav1connect.UnimplementedAlphaServiceHandler
}

func (nightlyRuns) Nightly(context.Context, *connect.Request[alphav1.NightlyRequest]) (*connect.Response[alphav1.NightlyResponse], error) {
	return connect.NewResponse(&alphav1.NightlyResponse{Added: []*alphav1.Pair{{Id: "p-one", Src: "10.1.0.0/24", Dst: "10.2.0.0/24"}}, ChangeId: "c-1"}), nil
}

// oneWaiting has the change set of that night, unless it is away.
type oneWaiting struct {
	pushv1connect.UnimplementedChangeServiceHandler
	away bool
}

func (c oneWaiting) List(context.Context, *connect.Request[pushv1.ListRequest]) (*connect.Response[pushv1.ListResponse], error) {
	if c.away {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("push is away"))
	}
	return connect.NewResponse(&pushv1.ListResponse{Changes: []*pushv1.ChangeSet{{Id: "c-1", Author: "alpha nightly", State: pushv1.State_STATE_PLANNED}}}), nil
}

func TestANightlyRunIsReported(t *testing.T) {
	for _, c := range []struct {
		format string
		away   bool
		want   []string
	}{
		{"text", false, []string{"1 came, 0 went, 1 waiting", "c-1", "waits for one person's approval", "p-one"}},
		{"html", false, []string{"<h1", "<td", "c-1"}},
		{"mail", false, []string{"Subject: Alpha pairs", "multipart/alternative", "text/html"}},
		{"text", true, []string{"p-one", "Nobody knows what waits", "push is away"}},
	} {
		mux := http.NewServeMux()
		mux.Handle(alphav1connect.NewAlphaServiceHandler(nightlyRuns{}, rpc.Bounded(rpc.MaxRequest)))
		mux.Handle(pushv1connect.NewChangeServiceHandler(oneWaiting{away: c.away}, rpc.Bounded(rpc.MaxRequest)))
		server := httptest.NewServer(mux)
		var out strings.Builder
		cmd := alphaCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&strings.Builder{})
		cmd.SetArgs([]string{"nightly", "--server", server.URL, "--report", c.format})
		err := cmd.ExecuteContext(t.Context())
		server.Close()
		if err != nil {
			t.Fatalf("%s: %v", c.format, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in:\n%s", c.format, want, out.String())
			}
		}
	}
}

func TestAReportOfAnUnknownKindIsRefusedBeforeTheRun(t *testing.T) {
	o := nightlyFlags{report: "pdf"}
	if _, err := o.request(alphaNightlyCommand(), time.Now()); err == nil || !strings.Contains(err.Error(), "text, html or mail") {
		t.Errorf("%v", err)
	}
}
