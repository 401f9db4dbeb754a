// Package configentry defines managed config entries, the pieces of a router's configuration that are compared,
// replaced or deleted as one. For OpenConfig it defines which list entries they are, the order in which they refer to
// each other, and the canonical JSON in which they are compared.
//
// In: subtrees a router returned (RFC 7951 JSON), or entries of a plan. Out: the same as entries keyed by path. Next:
// services/policy renders entries, services/push compares and sends them.
//
// Mutation testing: 48 of 52 killed (docs/reference/mutants.md).
package configentry

// Entry is the intended or running config at one path.
type Entry struct {
	// Path is a gNMI path in string form with keys.
	Path string
	// Body is in the Encoding of the router's vendor.
	Body string
}

// Encoding is the syntax of an entry's body; every router is configured in one.
type Encoding string

// Each vendor's configuration has one of these.
const (
	// JSONIETF is RFC 7951 JSON of the list entry as Canonical spells it.
	JSONIETF Encoding = "json_ietf"
	// JunosText is curly-brace text as internal/junosconf prints it.
	JunosText Encoding = "junos_text"
)

// Encodings are those that a row of the vendors' table may name.
var Encodings = []Encoding{JSONIETF, JunosText}

// Whole reports whether one entry holds all of a router's configuration, rather than one list entry of it.
func (e Encoding) Whole() bool { return e == JunosText }

// Equal compares two canonical bodies by meaning. In JSON a target may leave out
// the module of an identity (RFC 7951 section 6.8).
func (e Encoding) Equal(a, b string) bool {
	return a == b || (e == JSONIETF && bareIdentities(a) == bareIdentities(b))
}
