package gnmi

import (
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A subscription of which every leaf is left out would be silent for ever, and its client none the wiser.
func TestASubscriptionThatCanNeverSayAnythingIsRefused(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	const counters = "/interfaces/interface/state/counters"
	for _, c := range []struct {
		name, path string
		mode       gnmi.SubscriptionMode
		models     []*gnmi.ModelData
		depth      int
		want       codes.Code
	}{
		{"counters on change", counters, gnmi.SubscriptionMode_ON_CHANGE, nil, 0, codes.InvalidArgument},
		{"one counter on change", counters + "/in-octets", gnmi.SubscriptionMode_ON_CHANGE, nil, 0, codes.InvalidArgument},
		{"sampled counters", counters, gnmi.SubscriptionMode_SAMPLE, nil, 0, codes.OK},
		{"counters as the target likes", counters, gnmi.SubscriptionMode_TARGET_DEFINED, nil, 0, codes.OK},
		{"counters and more on change", "/interfaces/interface/state", gnmi.SubscriptionMode_ON_CHANGE, nil, 0, codes.OK},
		{"of another model", counters, gnmi.SubscriptionMode_SAMPLE, []*gnmi.ModelData{{Name: "openconfig-qos"}}, 0, codes.InvalidArgument},
		{"deeper than asked", "/interfaces", gnmi.SubscriptionMode_SAMPLE, nil, 1, codes.InvalidArgument},
		{"deep enough", "/interfaces", gnmi.SubscriptionMode_SAMPLE, nil, 3, codes.OK},
	} {
		l := &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_STREAM, UseModels: c.models, Subscription: []*gnmi.Subscription{{Path: at(t, c.path).Proto(), Mode: c.mode}}}
		if _, err := s.newSubscriber(nil, l, c.depth); status.Code(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
