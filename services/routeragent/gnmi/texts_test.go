package gnmi

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A text that names the wrong thing misleads its readers.
func TestWhatRefusalsSay(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	get := func(req *gnmi.GetRequest) error {
		_, err := s.Get(t.Context(), req)
		return err
	}
	set := func(req *gnmi.SetRequest) error {
		_, err := s.Set(t.Context(), req)
		return err
	}
	path := func(names ...string) *gnmi.Path {
		out := &gnmi.Path{}
		for _, n := range names {
			out.Elem = append(out.Elem, &gnmi.PathElem{Name: n})
		}
		return out
	}
	sampled := func(ns uint64) error {
		l := &gnmi.SubscriptionList{Subscription: []*gnmi.Subscription{{Path: path("qos"), Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: ns}}}
		_, err := s.newSubscriber(nil, l, 0)
		return err
	}
	commit := func(d *durationpb.Duration) error {
		_, err := readExtensions([]*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: &gnmi_ext.Commit{
			Id: "c", Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: d}},
		}}}})
		return err
	}
	otherModule := &gnmi.Update{Path: path("qos"), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`{"openconfig-interfaces:queues": {}}`)}}}
	for _, c := range []struct {
		name string
		got  error
		code codes.Code
		says string
		not  string
	}{
		{"an element without a name", get(&gnmi.GetRequest{Path: []*gnmi.Path{path("qos", "")}}), codes.InvalidArgument, "element 2 of the path has no name", "wildcard"},
		{"a node of another module", set(&gnmi.SetRequest{Update: []*gnmi.Update{otherModule}}), codes.InvalidArgument, "/qos/queues is a node of module openconfig-qos, not of openconfig-interfaces", "no such node"},
		{"an interval beyond all clocks", sampled(math.MaxUint64), codes.InvalidArgument, "too long", "lowest"},
		{"an interval that is too short", sampled(1), codes.InvalidArgument, "the lowest is", "too long"},
		{"an update without a value", set(&gnmi.SetRequest{Update: []*gnmi.Update{{Path: path("qos")}}}), codes.InvalidArgument, "no value was given", "nil"},
		{"an empty extension", set(&gnmi.SetRequest{Extension: []*gnmi_ext.Extension{{}}}), codes.Unimplemented, "extension not supported in Set: one that is empty", "nil"},
		{"a model without a version", get(&gnmi.GetRequest{UseModels: []*gnmi.ModelData{{Name: "openconfig-foo"}}}), codes.InvalidArgument, "model openconfig-foo is", "  "},
		{"a rollback in a day", commit(durationpb.New(24 * time.Hour)), codes.OK, "", "-"},
		{"a rollback in 10,000 years", commit(&durationpb.Duration{Seconds: 315_576_000_000}), codes.InvalidArgument, "too long; the longest is 24h", "more than zero"},
	} {
		if text := status.Convert(c.got).Message(); status.Code(c.got) != c.code || !strings.Contains(text, c.says) || strings.Contains(text, c.not) {
			t.Errorf("%s: %v, want %s with %q and without %q", c.name, c.got, c.code, c.says, c.not)
		}
	}
}

// Get says the origin where it was asked with it: in the path, in the prefix, or nowhere.
func TestGetEchoesTheOrigin(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	for _, encoding := range []gnmi.Encoding{gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO} {
		for _, c := range []struct{ prefix, path string }{{"", ""}, {"openconfig", ""}, {"", "openconfig"}} {
			p := at(t, "/qos/queues").Proto()
			p.Origin = c.path
			r, err := s.Get(t.Context(), &gnmi.GetRequest{
				Prefix: &gnmi.Path{Origin: c.prefix}, Path: []*gnmi.Path{p}, Type: gnmi.GetRequest_CONFIG, Encoding: encoding,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range r.GetNotification()[0].GetUpdate() {
				if u.GetPath().GetOrigin() != c.path || r.GetNotification()[0].GetPrefix().GetOrigin() != c.prefix {
					t.Errorf("%s: asked %+v, answered %v", encoding, c, r)
				}
			}
		}
	}
}
