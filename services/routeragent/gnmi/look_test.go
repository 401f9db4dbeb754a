package gnmi

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/tree"
)

const area = "/network-instances/network-instance[name=DEFAULT]/protocols/protocol[identifier=OSPF][name=ospf]/ospfv2/areas/area[identifier=0.0.0.0]"

// database is state with a link-state database of one link of that TE metric.
func database(metric uint32) *tree.Node {
	n := tree.New()
	n.Into("network-instances").Entry("network-instance", "DEFAULT").Into("protocols").Entry("protocol", "openconfig-policy-types:OSPF", "ospf").
		Into("ospfv2", "areas").Entry("area", "0.0.0.0").Into("ted", "nodes").Entry("node", "10.255.0.3").
		Into("links").Entry("link", "10.0.23.1").Into("state").Set("te-metric", metric)
	return n
}

// A change of the link-state database has no event of its own. It comes after the reading that an event of a link
// brought, or another router makes it, and is sent all the same.
func TestAChangeWithoutAnEventIsSent(t *testing.T) {
	for _, c := range []struct {
		name   string
		event  bool
		before int32 // readings in which the database is as it was
	}{{"after an event", true, 2}, {"without any", false, 5}} {
		t.Run(c.name, func(t *testing.T) {
			var readings atomic.Int32
			r := &router{config: queues(t, 1), read: func(context.Context) (*tree.Node, error) {
				if readings.Add(1) <= c.before {
					return database(10), nil
				}
				return database(20), nil
			}}
			s := serverOf(r)
			s.lookEvery, s.lookAfter = time.Millisecond, time.Hour
			if c.event {
				s.lookEvery, s.lookAfter = time.Hour, time.Millisecond
			}
			sent := make(chan string, 10)
			o := &open{once: once{ctx: t.Context(), list: &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_STREAM, Encoding: gnmi.Encoding_PROTO,
				Subscription: []*gnmi.Subscription{{Path: at(t, area).Proto(), Mode: gnmi.SubscriptionMode_ON_CHANGE}}}, send: func(m *gnmi.SubscribeResponse) error {
				for _, u := range m.GetUpdate().GetUpdate() {
					sent <- u.GetVal().String()
				}
				return nil
			}}}
			go func() { _ = s.Subscribe(o) }()
			first := await.Value(t, "the database as it is", sent)
			if c.event {
				s.deps.Wake.Send()
			}
			if got := await.Value(t, "the database as it is then", sent); got == first {
				t.Errorf("sent %s twice", got)
			}
		})
	}
}

// Configuration does not change without an event, and is not looked at for nothing.
func TestConfigurationIsNotLookedAtAgain(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	for path, want := range map[string]bool{"/qos/queues/queue/config": false, "/qos": true, area: true, "/interfaces/interface/state/oper-status": true} {
		sub, err := s.newSubscriber(nil, &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_STREAM,
			Subscription: []*gnmi.Subscription{{Path: at(t, path).Proto(), Mode: gnmi.SubscriptionMode_ON_CHANGE}}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if p := sub.parts[0]; p.looks != want {
			t.Errorf("%s is looked at again: %v, want %v", path, p.looks, want)
		}
	}
}

// open is a Subscribe call whose client says no more after its list.
type open struct {
	once
	asked atomic.Bool
}

func (o *open) Recv() (*gnmi.SubscribeRequest, error) {
	if o.asked.Swap(true) {
		<-o.ctx.Done()
		return nil, io.EOF
	}
	return o.once.Recv()
}
