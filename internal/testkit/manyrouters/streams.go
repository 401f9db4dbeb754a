package manyrouters

import (
	"context"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/gnmiclient"
)

// subscribe serves a router's streams: samples of its ports' counters, and whether its ports are up, on change. What it
// has nothing of, such as queues, it accepts and never sends.
func (n *Network) subscribe(r *router) func(*gnmi.SubscriptionList, gnmi.GNMI_SubscribeServer) error {
	return func(q *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		for _, s := range q.GetSubscription() {
			path, err := gnmiclient.FormatPath(s.GetPath())
			if err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			switch {
			case s.GetMode() == gnmi.SubscriptionMode_SAMPLE && strings.HasSuffix(path, "/state/counters"):
				return n.samples(r, time.Duration(s.GetSampleInterval()), stream)
			case s.GetMode() == gnmi.SubscriptionMode_ON_CHANGE && strings.HasSuffix(path, "/state/oper-status"):
				return changes(r, stream)
			}
		}
		return status.Error(codes.Unimplemented, "counters and oper-status only")
	}
}

// samples sends all counters every interval: a notification per port, as routers do, whose values rise.
func (n *Network) samples(r *router, interval time.Duration, stream gnmi.GNMI_SubscribeServer) error {
	ports, value := r.ports(), uint64(0)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		value++
		for _, name := range ports {
			if err := stream.Send(update(&gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: statePath(name, "counters"), Update: values(value)})); err != nil {
				return err
			}
		}
		n.Sent.Add(uint64(len(ports) * len(counters)))
		select {
		case <-stream.Context().Done():
			return context.Cause(stream.Context())
		case <-tick.C:
		}
	}
}

func values(value uint64) (out []*gnmi.Update) {
	for _, c := range counters {
		out = append(out, &gnmi.Update{
			Path: &gnmi.Path{Elem: []*gnmi.PathElem{{Name: c}}}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: value}},
		})
	}
	return out
}

// changes says which ports are up, and again of those with a link whenever one of them has changed.
func changes(r *router, stream gnmi.GNMI_SubscribeServer) error {
	changed := r.change()
	for _, name := range r.spare {
		if err := stream.Send(operStatus(name, false)); err != nil {
			return err
		}
	}
	said := map[string]bool{}
	for first := true; ; first = false {
		for _, l := range r.links {
			for _, e := range l.ends {
				if down := l.down.Load(); e.at == r && (first || said[e.port] != down) {
					said[e.port] = down
					if err := stream.Send(operStatus(e.port, down)); err != nil {
						return err
					}
				}
			}
		}
		if first {
			if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return context.Cause(stream.Context())
		case <-changed:
			changed = r.change()
		}
	}
}

func operStatus(port string, down bool) *gnmi.SubscribeResponse {
	return update(&gnmi.Notification{Timestamp: time.Now().UnixNano(), Update: []*gnmi.Update{{
		Path: statePath(port, "oper-status"), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: operState(down)}},
	}}})
}

func update(n *gnmi.Notification) *gnmi.SubscribeResponse {
	return &gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}}
}

// statePath is below the state of a port.
func statePath(port, leaf string) *gnmi.Path {
	return &gnmi.Path{Elem: []*gnmi.PathElem{
		{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": port}}, {Name: "state"}, {Name: leaf},
	}}
}

// ports are the names of all.
func (r *router) ports() (out []string) {
	for _, l := range r.links {
		for _, e := range l.ends {
			if e.at == r {
				out = append(out, e.port)
			}
		}
	}
	return append(out, r.spare...)
}
