package gnmiclient

import (
	"fmt"
	"strconv"
	"strings"
)

// Need is a YANG module and the oldest version of it that will do.
type Need struct{ Module, Version string }

// Require refuses a router whose Capabilities lack a module, or have one that
// is too old, or of another major version, which by OpenConfig's rules may mean
// something else by the same path.
func (c *Client) Require(needs ...Need) error {
	have := map[string]string{}
	for _, m := range c.caps.GetSupportedModels() {
		have[m.GetName()] = m.GetVersion()
	}
	for _, n := range needs {
		version, ok := have[n.Module]
		if !ok {
			return fmt.Errorf("%s does not offer the YANG model %s in its Capabilities", c.name, n.Module)
		}
		if !atLeast(version, n.Version) {
			return fmt.Errorf("%s offers the YANG model %s in version %q; version %s or newer with the same major number is needed", c.name, n.Module, version, n.Version)
		}
	}
	return nil
}

// atLeast compares semantic versions of the same major number.
func atLeast(have, want string) bool {
	h, ok1 := numbers(have)
	w, ok2 := numbers(want)
	if !ok1 || !ok2 || h[0] != w[0] {
		return false
	}
	return h[1] > w[1] || h[1] == w[1] && h[2] >= w[2]
}

func numbers(version string) (out [3]int, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return out, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return out, false
		}
		out[i] = n
	}
	return out, true
}
