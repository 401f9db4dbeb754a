package junos

import "github.com/openconfig/gnmi/proto/gnmi"

// Profile lists how a release's gNMI server differs from the specification, so
// that another release is another value and not another branch.
type Profile struct {
	Name string
	// Reads are the methods of reading configuration back, in the order in which they are tried.
	Reads []Read
	// Encodings for Subscribe, in the order in which they are tried: a server may
	// announce one and then send nothing in it.
	Encodings []gnmi.Encoding
	// Removal is how statements are removed.
	Removal Removal
	// ZeroSuppressed counters are not sent while they are zero: one that is missing is unknown or zero.
	ZeroSuppressed bool
}

// Read is a method of reading configuration.
type Read string

// The methods of reading.
const (
	// ReadText is Get with origin cli and encoding ASCII, as a Juniper engineer showed it (openconfig/gnmic issue 102).
	ReadText Read = "text"
	// ReadLeaves is Subscribe ONCE to Juniper's YANG, for servers whose Get fails (akvorado issue 759).
	ReadLeaves Read = "leaves"
)

// Removal is a method of removing statements; merged text cannot remove any.
type Removal string

// The methods of removal.
const (
	// RemovalByLines sends `delete` and `set` lines in one text. No public source shows that it works: the
	// result is read back before it is confirmed, and rolled back if it is not the intended config.
	RemovalByLines Removal = "lines"
	// RemovalRefused refuses every change that removes a statement.
	RemovalRefused Removal = "refused"
)

// Junos244 is Junos 24.4R1 by published models and field reports (docs/reference/junos.md lists the
// sources).
var Junos244 = Profile{
	Name:           "junos-24.4",
	Reads:          []Read{ReadText, ReadLeaves},
	Encodings:      []gnmi.Encoding{gnmi.Encoding_PROTO, gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF},
	Removal:        RemovalByLines,
	ZeroSuppressed: true,
}
