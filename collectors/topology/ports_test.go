package topology

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/testkit/await"
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
		"both ends of a link":     {{0, "wr", "", 200}, {20, "er", "", 200}, {200, "", "wr er", 1200}},
		"a change after one":      {{0, "wr", "", 200}, {200, "", "wr", 1200}, {300, "er", "", 1200}, {1200, "", "wr er", 2200}, {2200, "", "wr er", 6300}},
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

// teller is a router that tells of its ports: when it is asked to, and when the test says so.
type teller chan struct{}

func (c teller) subscribe(q *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
	port := &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: &gnmi.Notification{Timestamp: 1}}}
	synced := &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}}
	if mode := q.GetSubscription()[0].GetMode(); mode != gnmi.SubscriptionMode_ON_CHANGE {
		return status.Errorf(codes.InvalidArgument, "mode %s", mode)
	}
	for _, m := range []*gnmi.SubscribeResponse{port, port, synced} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	for {
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case c <- struct{}{}:
		}
		if err := stream.Send(port); err != nil {
			return err
		}
	}
}

// A link that fails is news as soon as a router tells of its port, and not at the next reading, in an hour. What ports
// are like at the beginning is no change.
func TestAPortThatChangesIsReadAtOnce(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.Interval, c.MaxBackoff = time.Hour, time.Hour })
	told := make(teller)
	r.servers["cr"].OnSubscribe = told.subscribe
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Stop(t.Context()) //nolint:errcheck // the test ends
	r.awaitEvent(t, "router-up", "cr")
	cut := strings.ReplaceAll(recorded(t, "protocols.json"), `"remote-router-id": "10.255.0.3"`, `"remote-router-id": "10.255.0.9"`)
	for _, s := range r.servers {
		s.Serve(pathProtocols, cut)
	}
	await.Value(t, "cr tells of a port", told)
	r.awaitEvent(t, "link-down", "10.255.0.1|10.0.13.1")
	i := slices.IndexFunc(r.routers, func(x *router) bool { return x.device.Name == "wr" })
	await.Every(t, 0, "wr, which refuses to tell of its ports, is known for it", r.routers[i].mute.Load)
}
