package compile

import "strings"

// Frames is how a router carries the frames of circuits between ports. Both ends of a circuit carry them in one way.
type Frames string

// The ways. With FramesNone no such circuit ends at the router.
const (
	FramesNone Frames = "none"
	// FramesVXLAN: in UDP between the addresses of the circuit's ends, by which all routers on the way recognise them.
	FramesVXLAN Frames = "vxlan"
	// FramesMPLS: behind labels all the way, which alone say their class.
	FramesMPLS Frames = "mpls"
)

// Labelled reports whether routers on the way have nothing but the labels to tell frames by.
func (f Frames) Labelled() bool { return f == FramesMPLS }

// WholePort reports whether an end for frames without a tag takes its port with all VLANs.
func (f Frames) WholePort() bool { return f == FramesMPLS }

// Unit reports whether a port is part of one, such as xe-0/0/2.10: an end that is a unit of its port, or all of the
// port, cannot be within one. Unit 0 is the port.
func (f Frames) Unit(port string) bool {
	_, unit, named := strings.Cut(port, ".")
	return f == FramesMPLS && named && unit != "0"
}
