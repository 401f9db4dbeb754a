package routeragent_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
)

const (
	stream = gnmi.SubscriptionList_STREAM
	portA  = "/interfaces/interface[name=ge-a]/state"
	operA  = portA + "/oper-status"
	inA    = portA + "/counters/in-octets"
)

func (x *target) on(t *testing.T, mode gnmi.SubscriptionMode, path string) *gnmi.Subscription {
	return &gnmi.Subscription{Mode: mode, Path: mustPath(t, path)}
}

// must sets what is no test but its preparation.
func (x *target) must(t *testing.T, ops ...string) {
	t.Helper()
	if err := x.set(x.request(ops...)); err != nil {
		t.Fatal(err)
	}
}

func check35(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_ONCE, &gnmi.Subscription{Path: mustPath(t, portA)}, &gnmi.Subscription{Path: mustPath(t, "/qos/queues")}))
	got := s.untilSync()
	for _, leaf := range []string{"oper-status", "ifindex", "counters/in-octets", "counters/out-discards"} {
		if got[portA+"/"+leaf] == "" {
			t.Errorf("%s is missing in %v", leaf, slices.Sorted(maps.Keys(got)))
		}
	}
	if code := s.ends(); code != codes.OK {
		t.Errorf("the stream ended with %s, want OK", code)
	}
	// Absent paths bring nothing and are no error (3.5.2.4).
	s = x.subscribe(t, list(gnmi.SubscriptionList_ONCE, &gnmi.Subscription{Path: mustPath(t, "/qos/queues/queue[name=none]")}))
	if got := s.untilSync(); len(got) != 0 {
		t.Errorf("an absent path brought %v", got)
	}
	// In JSON_IETF a leaf is a leaf, too, and 64 bits are a string.
	l := list(gnmi.SubscriptionList_ONCE, &gnmi.Subscription{Path: mustPath(t, inA)})
	l.Encoding = gnmi.Encoding_JSON_IETF
	if v := x.subscribe(t, l).recv().GetUpdate().GetUpdate()[0].GetVal().GetJsonIetfVal(); len(v) < 3 || v[0] != '"' {
		t.Errorf("counter in JSON_IETF: %s", v)
	}
}

func poll() *gnmi.SubscribeRequest {
	return &gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Poll{Poll: &gnmi.Poll{}}}
}

func check36(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_POLL, &gnmi.Subscription{Path: mustPath(t, "/qos/queues")}))
	if got := s.untilSync(); len(got) != 0 {
		t.Errorf("before the first poll came %v", got)
	}
	for i, want := range []int{0, 2, 2} {
		if i == 1 {
			x.must(t, "update /qos/queues/queue[name=a]/config/queue-id 3")
		}
		if err := s.stream.Send(poll()); err != nil {
			t.Fatal(err)
		}
		if got := s.untilSync(); len(got) != want {
			t.Errorf("poll %d brought %v, want %d leaves", i, got, want)
		}
	}
	early, err := x.client.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := early.Send(poll()); err != nil {
		t.Fatal(err)
	}
	_, err = early.Recv()
	wantCode(t, err, codes.InvalidArgument)
}

func check37(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, "/qos/queues"), x.on(t, gnmi.SubscriptionMode_ON_CHANGE, portA)))
	first := s.untilSync()
	if first[operA] == "" {
		t.Fatalf("first values %v", first)
	}
	if first[inA] != "" {
		t.Error("a counter is sent on change")
	}
	const queueID = "/qos/queues/queue[name=a]/config/queue-id"
	x.must(t, "update "+queueID+" 3")
	if got := s.change(); got[queueID] != "uint_val:3" {
		t.Errorf("change %v, want queue-id 3", got)
	}
	x.must(t, "update "+queueID+" 3") // no change, no message
	x.must(t, "update "+queueID+" 4")
	if diff := cmp.Diff(map[string]string{queueID: "uint_val:4"}, s.change()); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	x.must(t, "delete "+queueID)
	if diff := cmp.Diff(map[string]string{queueID: "deleted"}, s.change()); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	x.must(t, "delete /qos/queues/queue[name=a]")
	if diff := cmp.Diff(map[string]string{"/qos/queues/queue[name=a]": "deleted"}, s.change()); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	x.router.In("ip", "link", "set", "ge-a", "down")
	for got := s.change(); got[operA] != `string_val:"DOWN"`; got = s.change() {
		t.Logf("before it goes down: %v", got)
	}
	defaultsAreUpdates(t)
}

// defaultsAreUpdates deletes a leaf that has a default: who subscribed hears the default, not a deletion (3.5.2.3).
func defaultsAreUpdates(t *testing.T) {
	x := loaded(t)
	const action = rulePath + "/action/forwarding/config/forwarding-action"
	s := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, rulePath+"/action/forwarding")))
	if got := s.untilSync(); !strings.Contains(got[action], "FORWARD") {
		t.Fatalf("first values %v", got)
	}
	x.must(t, "delete "+action, "update /qos/forwarding-groups/forwarding-group[name=te-other]/config/output-queue \"te-beta\"",
		"update "+rulePath+`/action/forwarding/config/qos-forwarding-group "te-other"`)
	if diff := cmp.Diff(map[string]string{rulePath + "/action/forwarding/config/qos-forwarding-group": `string_val:"te-other"`}, s.change()); diff != "" {
		t.Errorf("change (-want +got), the action being what it was, by default:\n%s", diff)
	}
}

func check38(t *testing.T) {
	x := newTarget(t)
	beat := x.on(t, gnmi.SubscriptionMode_ON_CHANGE, operA)
	beat.HeartbeatInterval = uint64(200 * time.Millisecond)
	began := time.Now()
	s := x.subscribe(t, list(stream, beat))
	s.untilSync()
	for i := range 4 {
		n := s.recv().GetUpdate()
		if len(n.GetUpdate()) != 1 || n.GetUpdate()[0].GetVal().GetStringVal() != "UP" {
			t.Fatalf("heartbeat %d is %v", i, n)
		}
		notBefore(t, fmt.Sprintf("heartbeat %d", i), n, began.Add(time.Duration(i+1)*200*time.Millisecond))
	}
	for _, ns := range []uint64{1, 1 << 63} {
		beat.HeartbeatInterval = ns
		if got := x.subscribe(t, list(stream, beat)).ends(); got != codes.InvalidArgument {
			t.Errorf("a heartbeat of %d ns: %s, want InvalidArgument", ns, got)
		}
	}
}

// notBefore is all that may be expected of the time of a message: a machine with other work on it sends one late, and
// the next at its own time, which is then less than an interval after it.
func notBefore(t *testing.T, what string, n *gnmi.Notification, earliest time.Time) {
	t.Helper()
	if at := time.Unix(0, n.GetTimestamp()); at.Before(earliest) {
		t.Errorf("%s came %s too early", what, earliest.Sub(at))
	}
}

func check39(t *testing.T) {
	x := newTarget(t)
	sample := func(path string, interval time.Duration) *gnmi.Subscription {
		q := x.on(t, gnmi.SubscriptionMode_SAMPLE, path)
		q.SampleInterval = uint64(interval)
		return q
	}
	for _, c := range []struct{ asked, interval time.Duration }{{200 * time.Millisecond, 200 * time.Millisecond}, {0, 100 * time.Millisecond}} {
		began := time.Now()
		s := x.subscribe(t, list(stream, sample(portA+"/ifindex", c.asked)))
		s.untilSync()
		for i := range 4 {
			n := s.recv().GetUpdate()
			if len(n.GetUpdate()) != 1 {
				t.Fatalf("sample %d has %d updates", i, len(n.GetUpdate()))
			}
			notBefore(t, fmt.Sprintf("interval %s: sample %d", c.asked, i), n, began.Add(time.Duration(i+1)*c.interval))
		}
	}
	for _, ns := range []uint64{1, 99_999_999, 1 << 63} {
		q := sample(inA, 0)
		q.SampleInterval = ns
		if got := x.subscribe(t, list(stream, q)).ends(); got != codes.InvalidArgument {
			t.Errorf("an interval of %d ns: %s, want InvalidArgument", ns, got)
		}
	}
	suppressed(t, x)
}

// suppressed: of a leaf that changes and one that does not, only the first comes with a sample; both come with the
// heartbeat, and not before its time. Whatever comes first, the test goes on until it has seen both.
func suppressed(t *testing.T, x *target) {
	const config = "/qos/queues/queue[name=a]/config"
	x.must(t, "update "+config+"/queue-id 1")
	q := x.on(t, gnmi.SubscriptionMode_SAMPLE, config)
	q.SampleInterval, q.SuppressRedundant, q.HeartbeatInterval = uint64(100*time.Millisecond), true, uint64(3*time.Second)
	began := time.Now()
	s := x.subscribe(t, list(stream, q))
	if got := s.untilSync(); len(got) != 2 {
		t.Fatalf("first values %v", got)
	}
	for id, sample, beat := uint64(2), false, false; !sample || !beat; {
		if !sample {
			x.must(t, fmt.Sprintf("update %s/queue-id %d", config, id))
		}
		n := s.recv().GetUpdate()
		switch leaves := n.GetUpdate(); {
		case len(leaves) == 2: // order by path: name, queue-id
			beat = true
			if got := leaves[0].GetVal().GetStringVal(); got != "a" {
				t.Errorf("the heartbeat has name %q", got)
			}
			notBefore(t, "the heartbeat", n, began.Add(3*time.Second))
		case len(leaves) == 1 && pathString(t, leaves[0].GetPath()) == config+"/queue-id":
			sample = true
			if got := leaves[0].GetVal().GetUintVal(); got < 2 || got > id {
				t.Errorf("the sample has queue-id %d, want one of 2 to %d", got, id)
			}
		default:
			t.Fatalf("a sample has %v", n)
		}
		if !sample {
			id++
		}
	}
}

func check40(t *testing.T) {
	x := newTarget(t)
	if got := x.subscribe(t, list(stream, &gnmi.Subscription{SampleInterval: 1e9, Path: mustPath(t, inA)})).ends(); got != codes.InvalidArgument {
		t.Errorf("TARGET_DEFINED with an interval: %s, want InvalidArgument", got)
	}
	counter := x.on(t, gnmi.SubscriptionMode_ON_CHANGE, inA)
	if got := x.subscribe(t, list(stream, counter)).ends(); got != codes.InvalidArgument {
		t.Errorf("a counter on change: %s, want InvalidArgument", got)
	}
	s := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_TARGET_DEFINED, portA)))
	if got := s.untilSync(); got[inA] == "" || got[operA] == "" {
		t.Errorf("TARGET_DEFINED starts with %v, want counters and the rest", got)
	}
	x.router.In("ip", "link", "set", "ge-a", "mtu", "1400")
	for got := s.change(); got[portA+"/mtu"] != "uint_val:1400"; got = s.change() {
		if got[inA] != "" {
			t.Logf("a sample came first: %v", got)
		}
	}
}

func check41(t *testing.T) {
	x := newTarget(t)
	x.must(t, start)
	for _, mode := range []gnmi.SubscriptionList_Mode{stream, gnmi.SubscriptionList_ONCE, gnmi.SubscriptionList_POLL} {
		l := list(mode, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, "/qos/queues"))
		l.UpdatesOnly = true
		s := x.subscribe(t, l)
		if got := s.untilSync(); len(got) != 0 {
			t.Errorf("%s: before sync came %v", mode, got)
		}
		if mode == gnmi.SubscriptionList_POLL {
			if err := s.stream.Send(poll()); err != nil {
				t.Fatal(err)
			}
			if got := s.untilSync(); len(got) != 0 {
				t.Errorf("a poll of updates only brought %v", got)
			}
		}
		if mode == stream {
			x.must(t, "update /qos/queues/queue[name=a]/config/queue-id 9")
			if got := s.change(); len(got) != 1 {
				t.Errorf("change %v, want the one leaf", got)
			}
		}
	}
}

func check42(t *testing.T) {
	x := newTarget(t)
	s := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, "/qos/queues/queue[name=late]/config/queue-id")))
	if got := s.untilSync(); len(got) != 0 {
		t.Errorf("before sync came %v", got)
	}
	x.must(t, "update /qos/queues/queue[name=late]/config/queue-id 9")
	if got := s.change(); len(got) != 1 {
		t.Errorf("change %v, want the leaf that appeared", got)
	}
	path := func(p string) *gnmi.Subscription { return &gnmi.Subscription{Path: mustPath(t, p)} }
	for name, c := range map[string]struct {
		list *gnmi.SubscriptionList
		want codes.Code
	}{
		"an unknown path":                 {list(stream, path("/interfaces/nonsense")), codes.InvalidArgument},
		"an unimplemented path":           {list(stream, path("/system")), codes.Unimplemented},
		"no subscription":                 {list(stream), codes.InvalidArgument},
		"an encoding we lack":             {&gnmi.SubscriptionList{Encoding: gnmi.Encoding_ASCII, Subscription: []*gnmi.Subscription{path(inA)}}, codes.Unimplemented},
		"a model we lack":                 {&gnmi.SubscriptionList{UseModels: []*gnmi.ModelData{{Name: "x"}}, Subscription: []*gnmi.Subscription{path(inA)}}, codes.InvalidArgument},
		"an unknown mode":                 {list(stream, &gnmi.Subscription{Mode: 9, Path: mustPath(t, inA)}), codes.InvalidArgument},
		"an unknown mode of the list":     {list(9, path(inA)), codes.InvalidArgument},
		"ONCE with an unimplemented path": {list(gnmi.SubscriptionList_ONCE, path("/system")), codes.Unimplemented},
	} {
		if got := x.subscribe(t, c.list).ends(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	old, err := x.client.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	history := &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_History{History: &gnmi_ext.History{}}}
	if err := old.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list(stream, path(inA))}, Extension: []*gnmi_ext.Extension{history}}); err != nil {
		t.Fatal(err)
	}
	_, err = old.Recv()
	wantCode(t, err, codes.Unimplemented)
}

func check43(t *testing.T) {
	x := newTarget(t)
	l := list(stream, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, "/qos/queues"))
	s, other := x.subscribe(t, l), x.subscribe(t, l)
	s.untilSync()
	other.untilSync()
	if err := s.stream.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: l}}); err != nil {
		t.Fatal(err)
	}
	if got := s.ends(); got != codes.InvalidArgument {
		t.Errorf("answer %s, want InvalidArgument", got)
	}
	x.must(t, "update /qos/queues/queue[name=a]/config/queue-id 3")
	if got := other.change(); got["/qos/queues/queue[name=a]/config/queue-id"] == "" {
		t.Errorf("another call on the connection got %v", got)
	}
}

// check44: a client that reads nothing for some time gets, when it reads again,
// one value per leaf and the number of those it missed.
func check44(t *testing.T) {
	x := newTarget(t)
	const n = 2000
	var queues []string
	for i := range n {
		name := "q" + strings.Repeat("x", 50) + string(rune('a'+i%26)) + fmtInt(i)
		queues = append(queues, `{"name":"`+name+`","config":{"name":"`+name+`","queue-id":1}}`)
	}
	x.must(t, `update /qos/queues {"queue":[`+strings.Join(queues, ",")+`]}`)
	q := x.on(t, gnmi.SubscriptionMode_SAMPLE, "/qos/queues")
	q.SampleInterval = uint64(100 * time.Millisecond)
	slow := x.subscribe(t, list(stream, q))
	slow.untilSync()
	// A reader beside it is served all the time; it measures how much of it has passed: 40 samples.
	quick := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_SAMPLE, portA+"/ifindex")))
	quick.untilSync()
	var last int64
	for range 40 {
		last = quick.recv().GetUpdate().GetTimestamp()
	}
	// What the slow one gets up to the newest value is bounded by what
	// the transport buffers and one outbox, not by 40 samples.
	updates, missed := 0, uint32(0)
	for {
		m := slow.recv().GetUpdate()
		updates += len(m.GetUpdate())
		for _, u := range m.GetUpdate() {
			missed = max(missed, u.GetDuplicates())
		}
		if m.GetTimestamp() >= last {
			break
		}
	}
	if missed == 0 {
		t.Error("no missed values were counted")
	}
	if updates > 12*2*n {
		t.Errorf("%d updates were kept for a reader of %d leaves that slept through 40 samples", updates, 2*n)
	}
}
