package routeragent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/services/routeragent/octest"
)

const (
	queueIDPath = "/qos/queues/queue[name=te-alpha]/config/queue-id"
	weightPath  = "/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]/inputs/input[id=te-alpha]/config/weight"
	rulePath    = "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]/rules/rule[sequence-id=10]"
)

// loaded is a target that holds the HNTES configuration.
func loaded(t *testing.T) *target {
	t.Helper()
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *target) ask(req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	return x.client.Get(x.Context(), req)
}

// judge lets ygot, which had no part in writing it, read an answer.
func judge(t *testing.T, document string) {
	t.Helper()
	if err := octest.Unmarshal([]byte(document), &octest.Device{}); err != nil {
		t.Errorf("ygot cannot read it: %v", err)
	}
}

func check05(t *testing.T) {
	x := loaded(t)
	began := time.Now()
	paths := []*gnmi.Path{mustPath(t, queueIDPath), mustPath(t, weightPath), mustPath(t, queueIDPath)}
	r, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Path: paths})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.GetNotification() {
		if at := time.Unix(0, n.GetTimestamp()); at.Before(began) || at.After(time.Now()) {
			t.Errorf("timestamp %s is not within the call", at)
		}
		for _, u := range n.GetUpdate() {
			got = append(got, pathString(t, u.GetPath())+" "+string(u.GetVal().GetJsonIetfVal()))
		}
	}
	if diff := cmp.Diff([]string{queueIDPath + " 1", weightPath + ` "95"`, queueIDPath + " 1"}, got); diff != "" || len(r.GetNotification()) != 3 {
		t.Errorf("%d notifications (-want +got):\n%s", len(r.GetNotification()), diff)
	}
	// The prefix is part of every path.
	r, err = x.ask(&gnmi.GetRequest{Prefix: mustPath(t, "/qos/queues"), Path: []*gnmi.Path{mustPath(t, "/queue[name=te-alpha]/config/queue-id")}})
	if err != nil || string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal()) != "1" {
		t.Errorf("with a prefix: %v, %v", r, err)
	}
}

func check06(t *testing.T) {
	x := loaded(t)
	const ni = "/network-instances/network-instance[name=DEFAULT]"
	for path, want := range map[string]codes.Code{
		queueIDPath: codes.OK,
		"/qos/queues/queue[name=none]/config/queue-id":              codes.NotFound,
		"/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=none]": codes.NotFound,
		"/interfaces/interface[name=none]":                          codes.NotFound,
		"/interfaces/interface[name=ge-a]/config/mtu":               codes.Unimplemented,
		"/interfaces/interface[name=ge-a]/state/last-change":        codes.Unimplemented,
		"/system/config/hostname":                                   codes.Unimplemented,
		"/acl":                                                      codes.Unimplemented,
		ni + "/afts":                                                codes.Unimplemented,
		ni + "/protocols/protocol[identifier=OSPF][name=ospf]/ospfv2/areas/area[identifier=0.0.0.0]/lsdb": codes.Unimplemented,
		"/qos/nonsense":                 codes.InvalidArgument,
		"/qos/queues/queue[colour=red]": codes.InvalidArgument,
		"/qos/queues[name=x]":           codes.InvalidArgument,
		"/qos/*/nonsense":               codes.InvalidArgument,
	} {
		_, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{mustPath(t, path)}})
		if codeOf(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	// One path of several that fails fails the call.
	_, err := x.ask(&gnmi.GetRequest{Path: []*gnmi.Path{mustPath(t, queueIDPath), mustPath(t, "/interfaces/interface[name=none]")}})
	wantCode(t, err, codes.NotFound)
	_, err = x.ask(&gnmi.GetRequest{Path: []*gnmi.Path{{Element: []string{"qos"}}}}) //nolint:staticcheck // the deprecated field is what is tested
	wantCode(t, err, codes.InvalidArgument)
	// A default in use is a value: this rule has no forwarding-action of its own.
	if err := x.set(x.request("delete " + rulePath + "/action/forwarding/config/forwarding-action")); err != nil {
		t.Fatal(err)
	}
	got, err := x.get(gnmi.GetRequest_CONFIG, rulePath+"/action/forwarding/config/forwarding-action")
	if err != nil || got != `"openconfig-policy-forwarding:FORWARD"` {
		t.Errorf("default of a leaf that is not set: %s, %v", got, err)
	}
	_, err = x.get(gnmi.GetRequest_CONFIG, strings.Replace(rulePath, "=10]", "=11]", 1)+"/action/forwarding/config/forwarding-action")
	wantCode(t, err, codes.NotFound)
}

func check07(t *testing.T) {
	x := loaded(t)
	path := []*gnmi.Path{mustPath(t, weightPath)}
	r, err := x.ask(&gnmi.GetRequest{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal()); got != "95" {
		t.Errorf("weight in JSON %q, want the number 95", got)
	}
	for _, e := range []gnmi.Encoding{gnmi.Encoding_BYTES, gnmi.Encoding_ASCII, gnmi.Encoding(77)} {
		_, err = x.ask(&gnmi.GetRequest{Encoding: e, Path: path})
		wantCode(t, err, codes.Unimplemented)
		if !strings.Contains(err.Error(), "encoding") {
			t.Errorf("the error %v does not say that it is the encoding", err)
		}
	}
	r, err = x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO, Path: path})
	if err != nil || r.GetNotification()[0].GetUpdate()[0].GetVal().GetUintVal() != 95 {
		t.Errorf("PROTO: %v, %v", r, err)
	}
}

func check08(t *testing.T) {
	x := loaded(t)
	leaves := func(kind gnmi.GetRequest_DataType) map[string]bool {
		r, err := x.ask(&gnmi.GetRequest{Type: kind, Encoding: gnmi.Encoding_PROTO, Path: []*gnmi.Path{mustPath(t, "/")}})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, u := range r.GetNotification()[0].GetUpdate() {
			if p := pathString(t, u.GetPath()); !isKeyPath(p) {
				out[p] = true
			}
		}
		return out
	}
	config, state, all := leaves(gnmi.GetRequest_CONFIG), leaves(gnmi.GetRequest_STATE), leaves(gnmi.GetRequest_ALL)
	if len(config) == 0 || len(state) == 0 {
		t.Fatalf("%d configuration and %d state leaves", len(config), len(state))
	}
	union := map[string]bool{}
	for p := range config {
		if state[p] || !strings.Contains(p, "/config/") {
			t.Errorf("%s is both, or no configuration", p)
		}
		union[p] = true
	}
	for p := range state {
		if strings.Contains(p, "/config/") {
			t.Errorf("%s is no state", p)
		}
		union[p] = true
	}
	if diff := cmp.Diff(union, all); diff != "" {
		t.Errorf("all (-union +all):\n%s", diff)
	}
	if diff := cmp.Diff(state, leaves(gnmi.GetRequest_OPERATIONAL)); diff != "" {
		t.Errorf("operational (-state +operational):\n%s", diff)
	}
	_, err := x.ask(&gnmi.GetRequest{Type: 9})
	wantCode(t, err, codes.InvalidArgument)
	// use_models narrows the tree to what the named modules define.
	r, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO, UseModels: []*gnmi.ModelData{{Name: "te-qos-ext"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.GetNotification()[0].GetUpdate() {
		if p := pathString(t, u.GetPath()); !strings.HasSuffix(p, "priority-level") {
			t.Errorf("with use_models te-qos-ext came %s", p)
		}
	}
	_, err = x.ask(&gnmi.GetRequest{UseModels: []*gnmi.ModelData{{Name: "openconfig-acl"}}})
	wantCode(t, err, codes.InvalidArgument)
}

func check09(t *testing.T) {
	x := loaded(t)
	got, err := x.get(gnmi.GetRequest_ALL, "/")
	if err != nil || !json.Valid([]byte(got)) {
		t.Fatalf("root: %v: %.200s", err, got)
	}
	judge(t, got)
	for path, want := range map[string]int{
		"/qos/queues/queue":                           2,
		"/qos/queues/queue[name=*]":                   2,
		"/qos/queues/queue[name=*]/config/queue-id":   2,
		"/qos/queues/queue/config/queue-id":           2,
		"/qos/queues/*/config/queue-id":               2,
		"/qos/queues/*[name=te-beta]/config/queue-id": 1,
		"/.../queue-id":                               2,
		"/qos/.../mpls-lsp":                           -1,
		"/*/interface[name=ge-a]/state/mtu":           1,
	} {
		r, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Type: gnmi.GetRequest_ALL, Path: []*gnmi.Path{mustPath(t, path)}})
		if want < 0 {
			wantCode(t, err, codes.InvalidArgument)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if n := len(r.GetNotification()); n != 1 {
			t.Errorf("%s: %d notifications, want 1", path, n)
		}
		u := r.GetNotification()[0].GetUpdate()
		if len(u) != want {
			t.Errorf("%s: %d updates, want %d: %v", path, len(u), want, u)
		}
		for _, one := range u {
			if p := pathString(t, one.GetPath()); strings.ContainsAny(p, "*") || strings.Contains(p, "...") {
				t.Errorf("%s answered with path %s", path, p)
			}
		}
	}
	depth := &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_Depth{Depth: &gnmi_ext.Depth{Level: 3}}}
	r, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO, Path: []*gnmi.Path{mustPath(t, "/interfaces")}, Extension: []*gnmi_ext.Extension{depth}})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.GetNotification()[0].GetUpdate() {
		if n := len(u.GetPath().GetElem()); n > 4 {
			t.Errorf("depth 3 below /interfaces brought %s", pathString(t, u.GetPath()))
		}
	}
	for name, e := range map[string]*gnmi_ext.Extension{
		"history":              {Ext: &gnmi_ext.Extension_History{History: &gnmi_ext.History{}}},
		"master arbitration":   {Ext: &gnmi_ext.Extension_MasterArbitration{}},
		"something registered": {Ext: &gnmi_ext.Extension_RegisteredExt{RegisteredExt: &gnmi_ext.RegisteredExtension{Id: gnmi_ext.ExtensionID_EID_EXPERIMENTAL}}},
	} {
		_, err := x.ask(&gnmi.GetRequest{Extension: []*gnmi_ext.Extension{e}})
		if codeOf(err) != codes.Unimplemented {
			t.Errorf("extension %s: %v, want Unimplemented", name, err)
		}
	}
}

func check10(t *testing.T) {
	x := loaded(t)
	for path, want := range map[string]string{
		strings.TrimSuffix(weightPath, "/weight"):                                               `"openconfig-qos:weight":"95"`,
		"/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]": `"te-qos-ext:priority-level":"MEDIUM_HIGH"`,
		"/interfaces/interface[name=ge-b]/state":                                                `"openconfig-interfaces:counters":{`,
		"/interfaces/interface[name=ge-b]/state/counters/in-octets":                             `"`,
	} {
		got, err := x.get(gnmi.GetRequest_ALL, path)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s (%v), want %s", path, got, err, want)
		}
	}
	for _, enc := range []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF} {
		r, err := x.ask(&gnmi.GetRequest{Encoding: enc, Path: []*gnmi.Path{mustPath(t, "/qos"), mustPath(t, weightPath), mustPath(t, "/interfaces")}})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range r.GetNotification() {
			for _, u := range n.GetUpdate() {
				ietf, plain := u.GetVal().GetJsonIetfVal() != nil, u.GetVal().GetJsonVal() != nil
				if ietf != (enc == gnmi.Encoding_JSON_IETF) || plain == ietf {
					t.Errorf("%s answered with %T", enc, u.GetVal().GetValue())
				}
			}
		}
	}
	// Every 64-bit leaf of the whole answer is a string.
	got, err := x.get(gnmi.GetRequest_ALL, "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weight", "dedicated-buffer", "in-octets", "transmit-octets", "matched-pkts"} {
		if strings.Count(got, `"`+name+`":`) != strings.Count(got, `"`+name+`":"`) || !strings.Contains(got, `"`+name+`":"`) {
			t.Errorf("%s is not always a string", name)
		}
	}
}

func check11(t *testing.T) {
	x := loaded(t)
	path := mustPath(t, queueIDPath)
	r, err := x.ask(&gnmi.GetRequest{Prefix: &gnmi.Path{Target: "r1"}, Path: []*gnmi.Path{path}})
	if err != nil || r.GetNotification()[0].GetPrefix().GetTarget() != "r1" {
		t.Errorf("Get: target is not echoed: %v %v", r, err)
	}
	if r, err = x.ask(&gnmi.GetRequest{Path: []*gnmi.Path{path}}); err != nil || r.GetNotification()[0].GetPrefix() != nil {
		t.Errorf("Get: a target nobody asked for: %v %v", r, err)
	}
	set := x.request("update " + queueIDPath + " 1")
	set.Prefix = &gnmi.Path{Target: "r1"}
	sr, err := x.client.Set(t.Context(), set)
	if err != nil || sr.GetPrefix().GetTarget() != "r1" {
		t.Errorf("Set: target is not echoed: %v %v", sr, err)
	}
	l := list(gnmi.SubscriptionList_ONCE, &gnmi.Subscription{Path: path})
	l.Prefix = &gnmi.Path{Target: "r1"}
	if n := x.subscribe(t, l).recv().GetUpdate(); n.GetPrefix().GetTarget() != "r1" {
		t.Errorf("Subscribe: target is not echoed: %v", n)
	}
	_, err = x.ask(&gnmi.GetRequest{Path: []*gnmi.Path{{Target: "r1", Elem: path.GetElem()}}})
	wantCode(t, err, codes.InvalidArgument) // target is for prefixes only
	_, err = x.ask(&gnmi.GetRequest{Prefix: &gnmi.Path{Origin: "openconfig"}, Path: []*gnmi.Path{{Origin: "openconfig", Elem: path.GetElem()}}})
	wantCode(t, err, codes.InvalidArgument)
}

func check12(t *testing.T) {
	x := loaded(t)
	path := mustPath(t, queueIDPath)
	for origin, want := range map[string]codes.Code{"": codes.OK, "openconfig": codes.OK, "cli": codes.InvalidArgument, "openconfig-qos": codes.InvalidArgument, "rfc7951": codes.InvalidArgument} {
		with := &gnmi.Path{Origin: origin, Elem: path.GetElem()}
		_, err := x.ask(&gnmi.GetRequest{Path: []*gnmi.Path{with}})
		wantCode(t, err, want)
		_, err = x.client.Set(t.Context(), &gnmi.SetRequest{Update: []*gnmi.Update{{Path: with, Val: ietf("1")}}})
		wantCode(t, err, want)
		_, err = x.client.Set(t.Context(), &gnmi.SetRequest{Prefix: &gnmi.Path{Origin: origin}, Update: []*gnmi.Update{{Path: path, Val: ietf("1")}}})
		wantCode(t, err, want)
		if got := x.subscribe(t, list(gnmi.SubscriptionList_ONCE, &gnmi.Subscription{Path: with})).ends(); got != want {
			t.Errorf("Subscribe with origin %q: %s, want %s", origin, got, want)
		}
	}
}
