package gnmiclient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// This file is for targets that need requests of another shape: other origins than OpenConfig's, encodings
// chosen by the caller.

// Speaks reports whether the encoding was among the router's Capabilities when Dial read them.
func (c *Client) Speaks(e gnmi.Encoding) bool {
	return slices.Contains(c.caps.GetSupportedEncodings(), e)
}

// GetRaw sends the request as it is.
func (c *Client) GetRaw(ctx context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	r, err := c.stub.Get(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("gNMI Get of %s: %w", c.name, err)
	}
	return r, nil
}

// errSynced ends a stream that a router leaves open after its sync_response, as some do.
var errSynced = errors.New("synchronized")

// Once subscribes ONCE in the given encoding, and returns what came up
// to the sync_response; after an error, what came before it.
func (c *Client) Once(ctx context.Context, e gnmi.Encoding, paths ...*gnmi.Path) ([]*gnmi.Notification, error) {
	list := &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_ONCE, Encoding: e}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gnmi.Subscription{Path: p})
	}
	var out []*gnmi.Notification
	err := c.subscribe(ctx, list, func(r *gnmi.SubscribeResponse) error {
		if n := r.GetUpdate(); n != nil {
			out = append(out, n)
		}
		if r.GetSyncResponse() {
			return errSynced
		}
		return nil
	})
	if errors.Is(err, errSynced) {
		err = nil
	}
	return out, err
}
