package main

import (
	"crypto/tls"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/policy/compile"
	renderjunos "github.com/millrace/millrace/services/policy/render/junos"
	renderopenconfig "github.com/millrace/millrace/services/policy/render/openconfig"
	"github.com/millrace/millrace/services/push/driver"
	drivejunos "github.com/millrace/millrace/services/push/driver/junos"
	driveopenconfig "github.com/millrace/millrace/services/push/driver/openconfig"
)

// vendor is everything that depends on a router's operating system.
type vendor struct {
	// Syntax is the name of the configuration language, for --render.
	Syntax string
	// Encoding of the config entries that Render writes and Driver sends.
	Encoding configentry.Encoding
	// Render writes a plan as the config entries of a router: services/policy/render/<vendor>.
	Render func(compile.RouterPlan) ([]configentry.Entry, error)
	// Text writes a plan for people to read.
	Text func(compile.RouterPlan) (string, error)
	// Driver connects to routers, sends and verifies entries and finds conflicts: services/push/driver/<vendor>.
	Driver func(*tls.Config) driver.Opener
	// Frames is how the routers carry the frames of circuits between ports, whose attachments Render writes; with
	// compile.FramesNone it refuses them.
	Frames compile.Frames
}

// vendors has a row for each of device.OSes. It stands here because services/policy and services/push, which use its
// columns, do not import each other.
var vendors = map[device.OS]vendor{
	device.OSMillrace: {
		Syntax: "openconfig", Encoding: configentry.JSONIETF,
		Render: renderopenconfig.Entries, Text: renderopenconfig.Text,
		Driver: func(c *tls.Config) driver.Opener { return driveopenconfig.Opener{Credentials: c} },
		Frames: compile.FramesVXLAN,
	},
	device.OSJunos: {
		Syntax: "junos", Encoding: configentry.JunosText,
		Render: renderjunos.Entries, Text: renderjunos.Text,
		Driver: func(c *tls.Config) driver.Opener {
			return drivejunos.Opener{Credentials: c, Profile: drivejunos.Junos244}
		},
		Frames: compile.FramesMPLS,
	},
}

// renderers are the columns of services/policy.
func renderers() policy.Renderers {
	out := policy.Renderers{}
	for os, v := range vendors {
		out[os] = policy.Renderer{Syntax: v.Syntax, Encoding: v.Encoding, Entries: v.Render, Text: v.Text, Frames: v.Frames}
	}
	return out
}

// drivers are the columns of services/push.
func drivers(credentials *tls.Config) driver.Vendors {
	out := driver.Vendors{}
	for os, v := range vendors {
		out[os] = driver.Vendor{Encoding: v.Encoding, Opener: v.Driver(credentials)}
	}
	return out
}
