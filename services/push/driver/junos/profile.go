package junos

import "github.com/openconfig/gnmi/proto/gnmi"

// Profile is what is peculiar about a network operating system's gNMI server:
// data with names, so that another release is another value and not another branch.
type Profile struct {
	Name string
	// Reads are the ways to read configuration back, in the order in which they are tried.
	Reads []Read
	// Encodings for Subscribe, in the order in which they are tried: a server may
	// announce one and then send nothing in it.
	Encodings []gnmi.Encoding
	// Removal is how statements are taken away.
	Removal Removal
	// ZeroSuppressed counters are not sent while they are zero: one that is missing is unknown or zero.
	ZeroSuppressed bool
}

// Read is a way to read configuration.
type Read string

// The ways.
const (
	// ReadText is Get with origin cli and encoding ASCII, as a Juniper engineer showed it (openconfig/gnmic issue 102).
	ReadText Read = "text"
	// ReadLeaves is Subscribe ONCE to Juniper's YANG, for servers whose Get fails (akvorado issue 759).
	ReadLeaves Read = "leaves"
)

// Removal is a way to take statements away; text that is merged cannot.
type Removal string

// The ways.
const (
	// RemovalByLines sends `delete` and `set` lines in one text. Not shown to work by any public source: what
	// comes of it is read back before it is confirmed, and taken back if it is not what was meant.
	RemovalByLines Removal = "lines"
	// RemovalRefused sends nothing that would have to remove something.
	RemovalRefused Removal = "refused"
)

// Junos244 is Junos 24.4R1 as far as published models and field reports tell (docs/reference/junos.md lists the sources).
var Junos244 = Profile{
	Name:           "junos-24.4",
	Reads:          []Read{ReadText, ReadLeaves},
	Encodings:      []gnmi.Encoding{gnmi.Encoding_PROTO, gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF},
	Removal:        RemovalByLines,
	ZeroSuppressed: true,
}
