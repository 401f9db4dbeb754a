package main

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

func TestSplitsOfAChangeSet(t *testing.T) {
	got, err := parseSplits([]string{"wr:ge-0/0/1=30", "er:eth0:1.10=5"})
	want := []*policyv1.PortSplit{{Router: "wr", Interface: "ge-0/0/1", Beta: 30}, {Router: "er", Interface: "eth0:1.10", Beta: 5}}
	if diff := cmp.Diff(got, want, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	for _, text := range []string{"", "wr", "wr=30", "wr:ge-0", "wr:ge-0=", "wr:ge-0=0", "wr:ge-0=100", "wr:ge-0=x", ":ge-0=30", "wr:=30", "wr:ge-0=300"} {
		if got, err := parseSplits([]string{text}); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

// drafts answers with change sets one after the other.
type drafts struct {
	pushv1connect.ChangeServiceClient
	next []*pushv1.ChangeSet
}

func (d *drafts) Get(context.Context, *connect.Request[pushv1.GetRequest]) (*connect.Response[pushv1.GetResponse], error) {
	c := d.next[0]
	d.next = d.next[1:]
	return connect.NewResponse(&pushv1.GetResponse{Change: c}), nil
}

// A draft that waits for other change sets is followed, and what it waits for is said once.
func TestADraftIsFollowedToItsPlan(t *testing.T) {
	of := func(s pushv1.State, notes ...string) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Id: "c-2", State: s, Notes: notes}
	}
	var said strings.Builder
	client := &drafts{next: []*pushv1.ChangeSet{
		of(pushv1.State_STATE_DRAFT, "it waits for c-1"), of(pushv1.State_STATE_DRAFT, "it waits for c-1"), of(pushv1.State_STATE_PLANNED),
	}}
	c, err := awaitPlan(t.Context(), &said, client, of(pushv1.State_STATE_DRAFT))
	if err != nil || c.GetState() != pushv1.State_STATE_PLANNED {
		t.Errorf("%v, %v", c, err)
	}
	if want := "change set c-2 is a draft: it waits for c-1\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}
