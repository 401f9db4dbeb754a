// Package openconfig drives targets that take OpenConfig as services/policy
// renders it, such as services/routeragent.
//
// In: units. Out: gNMI Get and Set with the Commit extension. Next: the router.
package openconfig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/ocunit"
	"github.com/millrace/millrace/services/push/driver"
)

// Opener dials routers with the controller's certificate.
type Opener struct {
	Credentials *tls.Config
	// Dialer reaches routers that are not in this process's network; nil: plain TCP.
	Dialer gnmiclient.Dialer
}

// needed are the models without which the units cannot be said, in the first
// version that has what they say: percentages of queue management as uint64,
// a class in a forwarding rule, shares of the excess.
var needed = []gnmiclient.Need{
	{Module: "openconfig-defined-sets", Version: "1.0.0"},
	{Module: "openconfig-qos", Version: "2.0.0"},
	{Module: "openconfig-network-instance", Version: "4.0.0"},
	{Module: "openconfig-policy-forwarding", Version: "1.1.0"},
	{Module: "te-qos-ext", Version: "0.2.0"},
}

// Open implements driver.Opener.
func (o Opener) Open(ctx context.Context, d device.Device) (driver.Driver, error) {
	c, err := o.dial(ctx, d)
	if err != nil {
		return nil, lost(err)
	}
	if err := c.Require(needed...); err != nil {
		c.Close()
		return nil, fmt.Errorf("%w; it cannot be driven with OpenConfig", err)
	}
	return &router{name: d.Name, client: c}, nil
}

func (o Opener) dial(ctx context.Context, d device.Device) (*gnmiclient.Client, error) {
	if o.Dialer == nil {
		return gnmiclient.Dial(ctx, d, o.Credentials)
	}
	return gnmiclient.DialBy(ctx, d, o.Credentials, o.Dialer)
}

type router struct {
	name   string
	client *gnmiclient.Client
}

// Close implements driver.Driver.
func (r *router) Close() error { return r.client.Close() }

// Snapshot implements driver.Driver: one Get per root, because a root without
// data is NOT_FOUND and would fail the others (gNMI specification, section 3.3.4).
func (r *router) Snapshot(ctx context.Context) (driver.Snapshot, error) {
	s := driver.Snapshot{Units: map[string]string{}, Foreign: map[string]string{}}
	for _, root := range ocunit.Roots() {
		raw, err := r.get(ctx, gnmi.GetRequest_CONFIG, root)
		if err != nil {
			return s, err
		}
		units, err := ocunit.Split(root, raw)
		if err != nil {
			return s, fmt.Errorf("%s: %w", r.name, err)
		}
		foreign, err := ocunit.Foreign(root, raw)
		if err != nil {
			return s, fmt.Errorf("%s: %w", r.name, err)
		}
		maps.Copy(s.Units, units)
		maps.Copy(s.Foreign, foreign)
	}
	return s, nil
}

// get is empty for a path that holds nothing, or that this router has nothing of.
func (r *router) get(ctx context.Context, kind gnmi.GetRequest_DataType, path string) ([]byte, error) {
	raw, err := r.client.GetJSON(ctx, kind, path)
	if errors.Is(err, gnmiclient.ErrNoValue) || status.Code(err) == codes.NotFound || status.Code(err) == codes.Unimplemented {
		return nil, nil
	}
	return raw, lost(err)
}

// lost marks errors after which nobody knows what the router did.
func lost(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	return err
}
