package gnmiclient

import (
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Sample subscribes to the paths' values every interval, unchanged ones too.
func Sample(interval time.Duration, paths ...string) (*gnmi.SubscriptionList, error) {
	return stream(&gnmi.Subscription{
		Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: uint64(interval),
	}, paths)
}

// OnChange subscribes to the paths' values now and to each change after that.
func OnChange(paths ...string) (*gnmi.SubscriptionList, error) {
	return stream(&gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE}, paths)
}

// stream repeats one kind of subscription over paths.
func stream(like *gnmi.Subscription, paths []string) (*gnmi.SubscriptionList, error) {
	list := &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_STREAM}
	for _, s := range paths {
		p, err := ParsePath(s)
		if err != nil {
			return nil, err
		}
		list.Subscription = append(list.Subscription, &gnmi.Subscription{
			Path: p, Mode: like.Mode, SampleInterval: like.SampleInterval,
		})
	}
	return list, nil
}
