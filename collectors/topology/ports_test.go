package topology

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
)

// What follows changes of ports, in milliseconds: note of a router, or a reading once its time has come.
func TestReadingsAfterAChange(t *testing.T) {
	type step struct {
		at   int    // when it happens
		note string // of which router; empty: a reading
		read string // whose ports the reading looks at
		next int    // when the next one is; -1: none
	}
	for name, steps := range map[string][]step{
		"one change":              {{0, "wr", "", 200}, {200, "", "wr", 1200}, {1200, "", "wr", 6000}, {6000, "", "wr", -1}},
		"both ends of a link":     {{0, "wr", "", 200}, {20, "er", "", 200}, {200, "", "er wr", 1200}},
		"a change after one":      {{0, "wr", "", 200}, {200, "", "wr", 1200}, {300, "er", "", 1200}, {1200, "", "er wr", 2200}, {2200, "", "er wr", 6300}, {6300, "", "er", -1}},
		"a port that flaps":       {{0, "wr", "", 200}, {200, "", "wr", 1200}, {250, "wr", "", 1200}, {300, "wr", "", 1200}, {1200, "", "wr", 2200}, {1250, "wr", "", 2200}},
		"a change soon after all": {{0, "wr", "", 200}, {200, "", "wr", 1200}, {1200, "", "wr", 6000}, {6000, "", "wr", -1}, {6100, "er", "", 7000}, {7000, "", "er", 8000}},
		"a reading that is late":  {{0, "wr", "", 200}, {9000, "", "wr", 10_000}, {10_000, "", "wr", 11_000}},
	} {
		var c changes
		begin := time.Unix(1e9, 0)
		for i, s := range steps {
			now, read := begin.Add(time.Duration(s.at)*time.Millisecond), []string(nil)
			if s.note != "" {
				c = c.note(s.note, now)
			} else {
				read, c = c.read(now)
			}
			next := -1
			if d := c.wait(now); d >= 0 {
				next = s.at + int(d/time.Millisecond)
			}
			if next != s.next || strings.Join(read, " ") != s.read {
				t.Errorf("%s, step %d: reads %q, the next at %d; want %q and %d", name, i+1, read, next, s.read, s.next)
			}
		}
	}
}

// operStatus is what a router says of its port.
func operStatus(is string) *gnmi.SubscribeResponse {
	path := &gnmi.Path{Elem: []*gnmi.PathElem{{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": "ge-wr"}}, {Name: "state"}, {Name: "oper-status"}}}
	return &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: &gnmi.Notification{Timestamp: 1, Update: []*gnmi.Update{
		{Path: path, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: is}}},
	}}}}
}

// tells is a router that says of its port what the test says, until that is all.
func tells(all chan string) func(*gnmi.SubscriptionList, gnmi.GNMI_SubscribeServer) error {
	return func(q *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		if mode := q.GetSubscription()[0].GetMode(); mode != gnmi.SubscriptionMode_ON_CHANGE {
			return status.Errorf(codes.InvalidArgument, "mode %s", mode)
		}
		for {
			select {
			case <-stream.Context().Done():
				return stream.Context().Err()
			case is, more := <-all:
				if !more {
					return nil
				}
				if err := stream.Send(operStatus(is)); err != nil {
					return err
				}
			}
		}
	}
}

// cut is the database without the links to cr.
func (r *rig) cut(t *testing.T) {
	t.Helper()
	doc := strings.ReplaceAll(recorded(t, "protocols.json"), `"remote-router-id": "10.255.0.3"`, `"remote-router-id": "10.255.0.9"`)
	for _, s := range r.servers {
		s.Serve(pathProtocols, doc)
	}
}

func (r *rig) router(name string) *router {
	return r.routers[slices.IndexFunc(r.routers, func(x *router) bool { return x.device.Name == name })]
}

// seldom leaves what is read to the routers, and what they are waited for to the reading.
func seldom(c *Configuration) { c.Interval, c.MaxBackoff, c.Timeout = time.Hour, time.Hour, time.Hour }

// A link that fails is news as soon as a router tells of its port, and not at the next reading, in an hour: also where
// the router whose database was read until then no longer answers.
func TestAPortThatChangesIsReadAtOnce(t *testing.T) {
	r := newRig(t, seldom)
	all, hangs := make(chan string, 2), &atomic.Bool{}
	r.servers["cr"].OnSubscribe = tells(all)
	r.servers["wr"].OnGet = func(ctx context.Context, _ string) error {
		if hangs.Load() {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Stop(t.Context()) //nolint:errcheck // the test ends
	r.awaitEvent(t, "router-up", "cr")
	r.cut(t)
	hangs.Store(true)
	all <- "UP"
	all <- "DOWN"
	r.awaitEvent(t, "link-down", "10.255.0.1|10.0.13.1")
	await.Every(t, time.Millisecond, "wr, which refuses to tell of its ports, is known for it", r.router("wr").mute.Load)
}

// A router that says again what it has said, and ends its stream, is read in intervals, and is not asked each time.
func TestARouterThatRepeatsItself(t *testing.T) {
	r := newRig(t, seldom)
	r.ports.briefly = time.Hour // however slow this machine is
	all, asked := make(chan string, 3), &atomic.Int32{}
	tell := tells(all)
	r.servers["cr"].OnSubscribe = func(q *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		asked.Add(1)
		return tell(q, stream)
	}
	r.loops.Start(t.Context())
	defer r.Stop(t.Context()) //nolint:errcheck // the test ends
	for range cap(all) {
		all <- "UP"
	}
	close(all)
	for range 3 {
		if err := r.read(t.Context(), regular); err != nil {
			t.Fatal(err)
		}
		await.Every(t, time.Millisecond, "its stream has ended", func() bool { return r.router("cr").brief.Load() != nil })
	}
	if n := asked.Load(); n != 1 || r.ports.wait() >= 0 {
		t.Errorf("asked %d times, and a reading is to come in %s; want once, and none", n, r.ports.wait())
	}
}

// A router that does not show its database is left alone for a while: the next reading does not wait for it again.
func TestARouterWhoseDatabaseDoesNotCome(t *testing.T) {
	r := newRig(t, seldom)
	r.servers["wr"].OnGet = func(_ context.Context, path string) error {
		if path == pathProtocols { // as where the connection ended, or the time was over
			return status.Error(codes.Unavailable, "no route to host")
		}
		return nil
	}
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	if wr := r.router("wr"); due(wr) || wr.err == nil {
		t.Errorf("wr is read again at once, after %v", wr.err)
	}
	r.awaitEvent(t, "router-unreachable", "wr")
}

// A router that was hurried and is not done in time is there, and keeps its connection and its ports; where it cannot
// be reached at all, a hurried reading finds that, too.
func TestARouterThatWasHurriedMayBeSlow(t *testing.T) {
	for name, c := range map[string]struct {
		get  func(ctx context.Context) error
		gone bool
	}{
		"it is slow": {get: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		"it is gone": {get: func(context.Context) error { return status.Error(codes.Unavailable, "no route to host") }, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, seldom)
			if err := r.read(t.Context(), regular); err != nil {
				t.Fatal(err)
			}
			wr := r.router("wr")
			client, ports := wr.client, len(wr.interfaces)
			r.servers["wr"].OnGet = func(ctx context.Context, path string) error {
				if path == pathInterfaces {
					return c.get(ctx)
				}
				return nil
			}
			wr.readInterfaces(t.Context(), reading{of: everyone, timeout: 100 * time.Millisecond})
			if gone := wr.err != nil; gone != c.gone || due(wr) == c.gone || (wr.client == client) == c.gone {
				t.Errorf("after a hurried reading: %v, read again %v, its connection was kept %v", wr.err, due(wr), wr.client == client)
			}
			if len(wr.interfaces) != ports {
				t.Errorf("%d ports, %d before", len(wr.interfaces), ports)
			}
		})
	}
}

// A leader that stood back, so that another replica may try, does not take the lead again because a port has changed.
func TestAChangeTakesNoLead(t *testing.T) {
	s := etcd.Shared(t)
	r := newRig(t, seldom)
	r.sharing(s, "first")
	r.turn(t.Context())
	if !r.leader.Held() {
		t.Fatal("it does not lead")
	}
	r.standBack()
	r.loops.Start(t.Context())
	defer r.Stop(t.Context()) //nolint:errcheck // the test ends
	r.loops.Go(r.hurry)
	r.ports.note("wr")
	await.Every(t, time.Millisecond, "a reading was due", func() bool {
		r.ports.mu.Lock()
		defer r.ports.mu.Unlock()
		return r.ports.changes.done > 1 || r.ports.changes.since.IsZero() // or all of them were
	})
	if r.leader.Held() {
		t.Error("it leads again")
	}
}

// TestWhoLeavesARefreshMakesNoRouterUnreachable: a reading that its caller ends, or that has no more time, has found
// out nothing about the routers: none is unreachable for it, left alone for a while or disconnected.
func TestWhoLeavesARefreshMakesNoRouterUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		path  string
		after time.Duration // that the caller gives; 0: it leaves when the router was asked
		early bool          // by the router's clock the time is over
	}{
		"left while interfaces are read": {path: pathInterfaces}, "no more time for interfaces": {path: pathInterfaces, after: 50 * time.Millisecond},
		"left while a database is read": {path: pathProtocols}, "no more time for a database": {path: pathProtocols, after: 50 * time.Millisecond},
		"interfaces, and the router's clock is ahead": {pathInterfaces, time.Minute, true},
		"a database, and the router's clock is ahead": {pathProtocols, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, seldom)
			if err := r.read(t.Context(), regular); err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithTimeout(t.Context(), cmp.Or(c.after, time.Hour))
			defer leave()
			client := r.router("wr").client
			r.servers["wr"].OnGet = func(get context.Context, path string) error {
				switch {
				case path != c.path:
					return nil
				case c.early:
					return status.Error(codes.DeadlineExceeded, "as the test says")
				case c.after == 0:
					leave()
				}
				<-get.Done()
				return get.Err()
			}
			if err := r.read(ctx, requested); err == nil && !c.early {
				t.Error("a reading that was left has an answer")
			}
			for _, is := range r.routers {
				if is.err != nil || !due(is) || is.client == nil {
					t.Errorf("%s: %v, read again %t, connected %t", is.device.Name, is.err, due(is), is.client != nil)
				}
			}
			if r.router("wr").client != client {
				t.Error("wr's connection was closed")
			}
		})
	}
}

// A port that is made again is news, though it is as it was when it was deleted: its link was gone meanwhile.
func TestAPortThatIsMadeAgainIsRead(t *testing.T) {
	r := newRig(t, seldom)
	r.ports.briefly = time.Hour // however slow this machine is
	deleted := operStatus("UP")
	deleted.GetUpdate().Delete = []*gnmi.Path{deleted.GetUpdate().GetUpdate()[0].GetPath()}
	deleted.GetUpdate().Update = nil
	again := make(chan struct{})
	r.servers["cr"].OnSubscribe = func(_ *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		for _, m := range []*gnmi.SubscribeResponse{operStatus("UP"), deleted} {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		select {
		case <-again:
		case <-stream.Context().Done():
		}
		return stream.Send(operStatus("UP"))
	}
	r.loops.Start(t.Context())
	defer r.Stop(t.Context()) //nolint:errcheck // the test ends
	if err := r.read(t.Context(), regular); err != nil {
		t.Fatal(err)
	}
	await.True(t, "a reading after the deletion", func() bool { return r.ports.wait() >= 0 })
	for r.ports.wait() >= 0 {
		r.ports.read() // all of them have begun when the port is there again
	}
	close(again)
	await.True(t, "its stream has ended", func() bool { return r.router("cr").brief.Load() != nil })
	if r.ports.wait() < 0 {
		t.Error("no reading is to come")
	}
}
