package policy

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/services/policy/compile"
)

// framesAlong is how the frames of a circuit between ports get along its paths, there and back, or why they do not:
// both ends carry them in one way, and where labels alone say what frames they are, so do all routers between. A
// router that is not in the inventory is the compiler's to refuse.
func (c *Component) framesAlong(path, back []string) (compile.Frames, string) {
	if len(path) == 0 {
		return compile.FramesNone, "its path has no routers"
	}
	var along []carrier
	for _, router := range slices.Concat(path, back) {
		d, known := c.deps.Inventory.ByName(router)
		if !known {
			return compile.FramesNone, ""
		}
		os := d.OS.OrDefault()
		along = append(along, carrier{router, os, c.deps.Renderers[os].Frames})
	}
	from, to := along[0], along[len(path)-1]
	return from.frames, carry(from, to, along)
}

// carrier is a router and how it carries frames.
type carrier struct {
	router string
	os     device.OS
	frames compile.Frames
}

// carry is why frames do not get from one end to the other and back along some routers; empty: they do.
func carry(from, to carrier, along []carrier) string {
	for _, end := range []carrier{from, to} {
		if end.frames == compile.FramesNone {
			return fmt.Sprintf("router %s runs %s, at which circuits between ports cannot end in this version", end.router, end.os)
		}
	}
	if from.frames != to.frames {
		return fmt.Sprintf("router %s runs %s and carries frames in %s, and router %s runs %s and carries them in %s; both ends have to be of one kind",
			from.router, from.os, encapsulations[from.frames], to.router, to.os, encapsulations[to.frames])
	}
	for _, on := range along {
		if from.frames.Labelled() && on.frames != from.frames {
			return fmt.Sprintf("router %s of its path runs %s, and frames in %s show it nothing that says their queue", on.router, on.os, encapsulations[from.frames])
		}
	}
	return ""
}

// encapsulations are the ways in words for people.
var encapsulations = map[compile.Frames]string{compile.FramesVXLAN: "VXLAN", compile.FramesMPLS: "MPLS"}
