package routeragent_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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

func (s *subscription) fails() codes.Code {
	for {
		if _, err := s.stream.Recv(); err != nil {
			return status.Code(err)
		}
	}
}

func list(mode gnmi.SubscriptionList_Mode, subs ...*gnmi.Subscription) *gnmi.SubscriptionList {
	return &gnmi.SubscriptionList{Mode: mode, Encoding: gnmi.Encoding_PROTO, Subscription: subs}
}

func TestCheck35OnceSendsAllThenEnds(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_ONCE, &gnmi.Subscription{Path: mustPath(t, "/interfaces/interface[name=ge-a]/state")}))
	got := s.untilSync()
	for _, leaf := range []string{"oper-status", "ifindex", "counters/in-octets", "counters/out-discards"} {
		if got["/interfaces/interface[name=ge-a]/state/"+leaf] == "" {
			t.Errorf("%s is missing in %v", leaf, slices.Sorted(maps.Keys(got)))
		}
	}
	if _, err := s.stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v, want OK", err)
	}
}

func TestCheck36PollAnswersEachPoll(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_POLL, &gnmi.Subscription{Path: mustPath(t, "/interfaces/interface[name=ge-a]/state/ifindex")}))
	for range 3 {
		if err := s.stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Poll{Poll: &gnmi.Poll{}}}); err != nil {
			t.Fatal(err)
		}
		if got := s.untilSync(); len(got) != 1 {
			t.Errorf("a poll brought %v, want one leaf", got)
		}
	}
	early, err := x.client.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := early.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Poll{Poll: &gnmi.Poll{}}}); err != nil {
		t.Fatal(err)
	}
	_, err = early.Recv()
	wantCode(t, err, codes.InvalidArgument)
}

func TestCheck37OnChangeSendsChangesAndDeletions(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_STREAM,
		&gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: mustPath(t, "/qos/queues")},
		&gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: mustPath(t, "/interfaces/interface[name=ge-a]/state")}))
	first := s.untilSync()
	const oper = "/interfaces/interface[name=ge-a]/state/oper-status"
	if first[oper] == "" {
		t.Fatalf("first values %v", first)
	}
	if first["/interfaces/interface[name=ge-a]/state/counters/in-octets"] != "" {
		t.Error("a counter is sent on change")
	}
	set := func(ops ...string) {
		if err := x.set(x.request(ops...)); err != nil {
			t.Fatal(err)
		}
	}
	set("update /qos/queues/queue[name=a]/config/queue-id 3")
	if got := s.change(); got["/qos/queues/queue[name=a]/config/queue-id"] != "uint_val:3" {
		t.Errorf("change %v, want queue-id 3", got)
	}
	set("update /qos/queues/queue[name=a]/config/queue-id 3") // no change, no message
	set("update /qos/queues/queue[name=a]/config/queue-id 4")
	if diff := cmp.Diff(map[string]string{"/qos/queues/queue[name=a]/config/queue-id": "uint_val:4"}, s.change()); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	set("delete /qos/queues/queue[name=a]")
	if got := s.change(); got["/qos/queues/queue[name=a]/config/queue-id"] != "deleted" {
		t.Errorf("change %v, want a deletion", got)
	}
	x.router.In("ip", "link", "set", "ge-a", "down")
	if got := s.change(); got[oper] != `string_val:"DOWN"` {
		t.Errorf("change %v, want %s DOWN", got, oper)
	}
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

func TestCheck39SamplesComeAtTheirInterval(t *testing.T) {
	x := newTarget(t)
	const path = "/interfaces/interface[name=ge-a]/state/ifindex"
	s := x.subscribe(t, list(gnmi.SubscriptionList_STREAM, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: uint64(200 * time.Millisecond), Path: mustPath(t, path)}))
	s.untilSync()
	var last int64
	for i := range 4 {
		n := s.recv().GetUpdate()
		if len(n.GetUpdate()) != 1 {
			t.Fatalf("sample %d has %d updates", i, len(n.GetUpdate()))
		}
		if gap := time.Duration(n.GetTimestamp() - last); last != 0 && gap < 150*time.Millisecond {
			t.Errorf("sample %d came %s after the one before", i, gap)
		}
		last = n.GetTimestamp()
	}
	quiet := x.subscribe(t, list(gnmi.SubscriptionList_STREAM, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: uint64(100 * time.Millisecond),
		SuppressRedundant: true, HeartbeatInterval: uint64(700 * time.Millisecond), Path: mustPath(t, path)}))
	quiet.untilSync()
	began := time.Now()
	quiet.recv()
	if waited := time.Since(began); waited < 500*time.Millisecond {
		t.Errorf("an unchanged leaf was sent after %s, before its heartbeat", waited)
	}
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	x := newTarget(t)
	stream := gnmi.SubscriptionList_STREAM
	counter := mustPath(t, "/interfaces/interface[name=ge-a]/state/counters/in-octets")
	for _, c := range []struct {
		name string
		list *gnmi.SubscriptionList
		want codes.Code
	}{
		{"39 too small an interval", list(stream, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: 1, Path: counter}), codes.InvalidArgument},
		{"40 TARGET_DEFINED with an interval", list(stream, &gnmi.Subscription{SampleInterval: 1e9, Path: counter}), codes.InvalidArgument},
		{"a counter on change", list(stream, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: counter}), codes.InvalidArgument},
		{"42 a malformed path", list(stream, &gnmi.Subscription{Path: mustPath(t, "/interfaces/nonsense")}), codes.InvalidArgument},
		{"42 an unimplemented path", list(stream, &gnmi.Subscription{Path: mustPath(t, "/system")}), codes.Unimplemented},
		{"no subscription", list(stream), codes.InvalidArgument},
		{"an encoding we lack", &gnmi.SubscriptionList{Encoding: gnmi.Encoding_ASCII, Subscription: []*gnmi.Subscription{{Path: counter}}}, codes.Unimplemented},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := x.subscribe(t, c.list).fails(); got != c.want {
				t.Errorf("answer %s, want %s", got, c.want)
			}
		})
	}
}

func TestCheck41UpdatesOnlyAndCheck42DataThatAppearLater(t *testing.T) {
	x := newTarget(t)
	l := list(gnmi.SubscriptionList_STREAM, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: mustPath(t, "/qos/queues/queue[name=late]/config/queue-id")})
	l.UpdatesOnly = true
	s := x.subscribe(t, l)
	if got := s.untilSync(); len(got) != 0 {
		t.Errorf("before sync came %v", got)
	}
	if err := x.set(x.request("update /qos/queues/queue[name=late]/config/queue-id 9")); err != nil {
		t.Fatal(err)
	}
	if got := s.change(); len(got) != 1 {
		t.Errorf("change %v, want the leaf that appeared", got)
	}
}

func TestCheck43ASecondListEndsTheCall(t *testing.T) {
	x := newTarget(t)
	l := list(gnmi.SubscriptionList_STREAM, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: mustPath(t, "/qos/queues")})
	s := x.subscribe(t, l)
	s.untilSync()
	if err := s.stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: l}}); err != nil {
		t.Fatal(err)
	}
	if got := s.fails(); got != codes.InvalidArgument {
		t.Errorf("answer %s, want InvalidArgument", got)
	}
}
