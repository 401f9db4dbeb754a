package driver

import (
	"context"
	"fmt"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
)

// Vendor is how routers of one operating system are configured.
type Vendor struct {
	// Encoding of the config entries that Opener's drivers read and send.
	Encoding configentry.Encoding
	Opener   Opener
}

// Vendors holds one per operating system.
type Vendors map[device.OS]Vendor

// Of finds the vendor of a router by the os: of its inventory entry.
func (v Vendors) Of(d device.Device) (Vendor, error) {
	vendor, known := v[d.OS.OrDefault()]
	if !known {
		return Vendor{}, fmt.Errorf("%s runs %s, for which there is no driver; change os: in the inventory", d.Name, d.OS)
	}
	return vendor, nil
}

// Open connects to a router with its vendor's driver.
func (v Vendors) Open(ctx context.Context, d device.Device) (Driver, error) {
	vendor, err := v.Of(d)
	if err != nil {
		return nil, err
	}
	return vendor.Opener.Open(ctx, d)
}
