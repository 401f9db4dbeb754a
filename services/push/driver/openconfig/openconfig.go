// Package openconfig drives targets that take OpenConfig as services/policy
// renders it, such as services/routeragent.
//
// In: config entries. Out: gNMI Get and Set with the Commit extension. Next: the router.
package openconfig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/services/push/driver"
)

// Opener dials routers with the controller's certificate.
type Opener struct {
	Credentials *tls.Config
	// Dialer reaches routers that are not in this process's network; nil: plain TCP.
	Dialer gnmiclient.Dialer
}

// needed are the models the entries are written in, each in the first version
// that has the leaves they use: percentages of queue management as uint64, a
// forwarding group in a forwarding rule, shares of the excess.
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
		return nil, driver.Lost(err)
	}
	if err := c.Require(needed...); err != nil {
		c.Close()
		return nil, fmt.Errorf("%w; it cannot be driven with OpenConfig", err)
	}
	return &router{driver.CommitConfirm{Name: d.Name, Client: c}}, nil
}

func (o Opener) dial(ctx context.Context, d device.Device) (*gnmiclient.Client, error) {
	if o.Dialer == nil {
		return gnmiclient.Dial(ctx, d, o.Credentials)
	}
	return gnmiclient.DialBy(ctx, d, o.Credentials, o.Dialer)
}

// router is a target.
type router struct{ driver.CommitConfirm }

// Commit implements driver.Driver.
func (r *router) Commit(ctx context.Context, as driver.Master, c driver.Commit) error {
	req := &gnmi.SetRequest{}
	for _, change := range c.Changes {
		if err := addChange(req, change); err != nil {
			return err
		}
	}
	return r.Send(ctx, as, c, req)
}

// Snapshot implements driver.Driver: one Get per root, because a root without
// data is NOT_FOUND and would fail the others (gNMI specification, section 3.3.4).
func (r *router) Snapshot(ctx context.Context) (driver.Snapshot, error) {
	s := driver.Snapshot{Entries: map[string]string{}, Unmanaged: map[string]string{}}
	for _, root := range configentry.Roots() {
		if root == configentry.Circuits.Root {
			if any, err := r.get(ctx, gnmi.GetRequest_CONFIG, configentry.AnyCircuit); err != nil {
				return s, err
			} else if len(any) == 0 {
				continue
			}
		}
		raw, err := r.get(ctx, gnmi.GetRequest_CONFIG, root)
		if err != nil {
			return s, err
		}
		entries, err := configentry.Split(root, raw)
		if err != nil {
			return s, fmt.Errorf("%s: %w", r.Name, err)
		}
		unmanaged, err := configentry.Unmanaged(root, raw)
		if err != nil {
			return s, fmt.Errorf("%s: %w", r.Name, err)
		}
		maps.Copy(s.Entries, entries)
		maps.Copy(s.Unmanaged, unmanaged)
	}
	return s, nil
}

// Conflicts implements driver.Driver: an interface is written and deleted whole, with what an operator has bound to it.
func (r *router) Conflicts(_ context.Context, running driver.Snapshot, entries map[string]string) ([]driver.Conflict, error) {
	var out []driver.Conflict
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		if bound, taken := running.Unmanaged[path]; taken {
			out = append(out, driver.Conflict{Path: path, With: bound})
		}
	}
	return out, nil
}

// get is empty for a path without data, and for one this router does not implement.
func (r *router) get(ctx context.Context, kind gnmi.GetRequest_DataType, path string) ([]byte, error) {
	raw, err := r.Client.GetJSON(ctx, kind, path)
	if errors.Is(err, gnmiclient.ErrNoValue) || status.Code(err) == codes.NotFound || status.Code(err) == codes.Unimplemented {
		return nil, nil
	}
	return raw, driver.Lost(err)
}
