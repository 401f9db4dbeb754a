package flow

import (
	"context"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// about is which routers exported the records of a batch. An exporter that is of no router may be any, and so may one
// that cannot be read.
func (c *Component) about(_ context.Context, _ string, request proto.Message) (rights.Things, error) {
	imported, ok := request.(*flowv1.ImportRequest)
	if !ok {
		return rights.Things{Routers: []string{""}}, nil
	}
	var things rights.Things
	for _, r := range imported.GetBatch().GetRecords() {
		if name := c.routerOf(r.GetExporter()); !slices.Contains(things.Routers, name) {
			things.Routers = append(things.Routers, name)
		}
	}
	return things, nil
}

// routerOf is the name of the router that exports from an address; empty where the inventory has none.
func (c *Component) routerOf(exporter []byte) string {
	a, ok := netip.AddrFromSlice(exporter)
	if !ok || c.deps.Inventory == nil {
		return ""
	}
	d, known := c.deps.Inventory.ByExporter(a)
	if !known {
		return ""
	}
	return d.Name
}
