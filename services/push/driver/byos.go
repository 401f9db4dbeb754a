package driver

import (
	"context"
	"fmt"

	"github.com/millrace/millrace/internal/device"
)

// ByOS opens each router in the way its inventory entry names (os:).
type ByOS map[device.OS]Opener

// Open implements Opener.
func (b ByOS) Open(ctx context.Context, d device.Device) (Driver, error) {
	os := d.OS
	if os == "" { // made by hand, not read from an inventory
		os = device.OSMillrace
	}
	opener, ok := b[os]
	if !ok {
		return nil, fmt.Errorf("%s runs %s, and nothing here configures that; change os: in the inventory", d.Name, os)
	}
	return opener.Open(ctx, d)
}
