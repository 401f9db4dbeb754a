package routeragent_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func codeOf(err error) codes.Code { return status.Code(err) }

func pathString(t *testing.T, p *gnmi.Path) string {
	t.Helper()
	s, err := ygot.PathToString(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// isKeyPath is true for the key leaf of a list entry, which is configuration and state at once.
func isKeyPath(p string) bool {
	i := strings.LastIndex(p, "/")
	return strings.HasSuffix(p[:i], "]") && strings.Contains(p[:i], "["+p[i+1:]+"=")
}

// subscription is a stream with what came so far.
type subscription struct {
	t      *testing.T
	stream gnmi.GNMI_SubscribeClient
	cancel context.CancelFunc
}

func (x *target) subscribe(t *testing.T, list *gnmi.SubscriptionList) *subscription {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context()) // open as long as the test needs it
	t.Cleanup(cancel)
	s, err := x.client.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		t.Fatal(err)
	}
	return &subscription{t, s, cancel}
}

func (s *subscription) recv() *gnmi.SubscribeResponse {
	s.t.Helper()
	r, err := s.stream.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// untilSync collects updates by path up to sync_response.
func (s *subscription) untilSync() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for {
		r := s.recv()
		if r.GetSyncResponse() {
			return out
		}
		for _, u := range r.GetUpdate().GetUpdate() {
			out[pathString(s.t, u.GetPath())] = u.GetVal().String()
		}
	}
}

// ends waits for the end of the call and tells its code.
func (s *subscription) ends() codes.Code {
	for {
		if _, err := s.stream.Recv(); errors.Is(err, io.EOF) {
			return codes.OK
		} else if err != nil {
			return status.Code(err)
		}
	}
}

func list(mode gnmi.SubscriptionList_Mode, subs ...*gnmi.Subscription) *gnmi.SubscriptionList {
	return &gnmi.SubscriptionList{Mode: mode, Encoding: gnmi.Encoding_PROTO, Subscription: subs}
}

// change is the next message, spaces of prototext left out.
func (s *subscription) change() map[string]string {
	s.t.Helper()
	n := s.recv().GetUpdate()
	out := map[string]string{}
	for _, p := range n.GetDelete() {
		out[pathString(s.t, p)] = "deleted"
	}
	for _, u := range n.GetUpdate() {
		out[pathString(s.t, u.GetPath())] = strings.ReplaceAll(u.GetVal().String(), ":  ", ":")
	}
	return out
}
