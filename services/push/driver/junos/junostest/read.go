package junostest

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Capabilities implements gNMI. JSON_IETF is announced, and silent.
func (r *Router) Capabilities(ctx context.Context, _ *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	if err := r.admit(ctx); err != nil {
		return nil, err
	}
	encodings := []gnmi.Encoding{gnmi.Encoding_JSON_IETF}
	if !r.has(OnlyIETF) {
		encodings = append(encodings, gnmi.Encoding_JSON, gnmi.Encoding_ASCII)
		if !r.has(NoProto) {
			encodings = append(encodings, gnmi.Encoding_PROTO)
		}
	}
	return &gnmi.CapabilityResponse{
		GNMIVersion:        "0.7.0",
		SupportedEncodings: encodings,
		SupportedModels:    []*gnmi.ModelData{{Name: "openconfig-qos", Version: "0.9.1"}, {Name: "openconfig-network-instance", Version: "4.4.1"}},
	}, nil
}

// Get implements gNMI for origin cli and encoding ASCII only.
func (r *Router) Get(ctx context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	if err := r.admit(ctx); err != nil {
		return nil, err
	}
	if r.has(GetFails) {
		return nil, status.Error(codes.Unimplemented, "rpc get is not supported")
	}
	out := &gnmi.GetResponse{}
	for _, p := range req.GetPath() {
		if p.GetOrigin() != "cli" || req.GetEncoding() != gnmi.Encoding_ASCII {
			return nil, status.Errorf(codes.InvalidArgument, "origin %q in %s", p.GetOrigin(), req.GetEncoding())
		}
		var place []string
		for _, e := range p.GetElem() {
			place = append(place, e.GetName())
		}
		out.Notification = append(out.Notification, &gnmi.Notification{Timestamp: time.Now().UnixNano(), Update: []*gnmi.Update{{
			Path: p, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: "\n" + r.show(place)}},
		}}})
	}
	return out, nil
}

// Subscribe implements gNMI for ONCE: the leaves of the configuration, counters
// that are not zero, the state of LSPs.
func (r *Router) Subscribe(stream gnmi.GNMI_SubscribeServer) error {
	if err := r.admit(stream.Context()); err != nil {
		return err
	}
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	list := req.GetSubscribe()
	if list.GetMode() != gnmi.SubscriptionList_ONCE {
		return status.Error(codes.Unimplemented, "ONCE only")
	}
	if list.GetEncoding() != gnmi.Encoding_JSON_IETF && !r.has(SilentEverywhere) {
		for _, s := range list.GetSubscription() {
			n := &gnmi.Notification{Timestamp: time.Now().UnixNano(), Update: r.updates(s.GetPath(), list.GetEncoding())}
			if len(n.GetUpdate()) == 0 {
				continue
			}
			if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}}); err != nil {
				return err
			}
		}
	}
	return stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

func (r *Router) updates(p *gnmi.Path, e gnmi.Encoding) []*gnmi.Update {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*gnmi.Update
	add := func(value string, path ...*gnmi.PathElem) {
		v := &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: value}}
		if e == gnmi.Encoding_JSON {
			raw, _ := json.Marshal(value) //nolint:errcheck // a string
			v = &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: raw}}
		}
		out = append(out, &gnmi.Update{Path: &gnmi.Path{Elem: path}, Val: v})
	}
	elems := p.GetElem()
	switch {
	case elems[0].GetName() == "configuration" && elems[1].GetName() == "version":
		add("24.4R1.11", elems...)
	case elems[0].GetName() == "configuration":
		for _, l := range r.config.Leaves() {
			if l.Path[0].Name != elems[1].GetName() || (len(elems[1].GetKey()) > 0 && l.Path[0].Keys["name"] != elems[1].GetKey()["name"]) {
				continue
			}
			path := []*gnmi.PathElem{elems[0]}
			for _, each := range l.Path {
				path = append(path, &gnmi.PathElem{Name: each.Name, Key: each.Keys})
			}
			add(l.Value, path...)
		}
	case elems[0].GetName() == "qos":
		for key, n := range r.counters {
			port, queue, _ := strings.Cut(key, " ")
			if n > 0 { // services analytics zero-suppression is the default
				add("1", &gnmi.PathElem{Name: "qos"}, &gnmi.PathElem{Name: "interfaces"}, &gnmi.PathElem{Name: "interface", Key: map[string]string{"interface-id": port}},
					&gnmi.PathElem{Name: "output"}, &gnmi.PathElem{Name: "queues"}, &gnmi.PathElem{Name: "queue", Key: map[string]string{"name": queue}},
					&gnmi.PathElem{Name: "state"}, &gnmi.PathElem{Name: "transmit-pkts"})
			}
		}
	case elems[0].GetName() == "network-instances" && !r.quirks[LSPsUnknown]:
		word := "UP"
		if r.quirks[LSPsDown] {
			word = "DOWN"
		}
		for _, g := range r.config.View().List("groups") {
			for _, l := range g.In("protocols", "mpls").List("label-switched-path") {
				add(word, append(elems[:len(elems):len(elems)], &gnmi.PathElem{Name: "tunnel", Key: map[string]string{"name": l.Key()}},
					&gnmi.PathElem{Name: "state"}, &gnmi.PathElem{Name: "oper-status"})...)
			}
		}
	}
	return out
}
