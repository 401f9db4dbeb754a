package gnmiclient

import (
	"context"
	"fmt"
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// This file is for targets that want requests of their own shape: other origins
// than OpenConfig's, encodings chosen by the caller.

// Speaks tells whether the router announced an encoding when Dial asked.
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

// SubscribeIn is Subscribe in the encoding the list names.
func (c *Client) SubscribeIn(ctx context.Context, list *gnmi.SubscriptionList, handle func(*gnmi.SubscribeResponse) error) error {
	return c.subscribe(ctx, list, handle)
}
