package policy

import (
	"fmt"
	"net/netip"
	"os"
)

// Configuration of the policy service.
type Configuration struct {
	// Dir is a folder of the operator's own policy files. Default none: the policies that ship with Millrace.
	Dir string `yaml:"dir"`
	// Ends is a prefix that nothing else in the network has: the ends of circuits between ports have addresses of it,
	// two each. A /16 is enough for the largest number of circuits. Default 198.18.0.0/16; if empty, circuits between
	// ports are refused.
	Ends netip.Prefix `yaml:"circuit_ends"`
}

// DefaultConfiguration serves the shipped policies.
func DefaultConfiguration() Configuration {
	return Configuration{Ends: netip.MustParsePrefix("198.18.0.0/16")}
}

// Validate refuses a folder that cannot be read.
func (c Configuration) Validate() error {
	if c.Ends.IsValid() && (!c.Ends.Addr().Is4() || c.Ends != c.Ends.Masked() || c.Ends.Bits() > 30) {
		return fmt.Errorf("policy: circuit_ends: %s is no prefix of IPv4 with room for four addresses", c.Ends)
	}
	if c.Dir == "" {
		return nil
	}
	if _, err := os.ReadDir(c.Dir); err != nil {
		return fmt.Errorf("policy: dir: %w", err)
	}
	return nil
}
