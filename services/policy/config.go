package policy

import (
	"fmt"
	"os"
)

// Configuration of the policy service.
type Configuration struct {
	// Dir is a folder of the operator's own policy files. Empty: the policies that ship with Millrace.
	Dir string `yaml:"dir"`
}

// DefaultConfiguration serves the shipped policies.
func DefaultConfiguration() Configuration { return Configuration{} }

// Validate refuses a folder that cannot be read.
func (c Configuration) Validate() error {
	if c.Dir == "" {
		return nil
	}
	if _, err := os.ReadDir(c.Dir); err != nil {
		return fmt.Errorf("policy: dir: %w", err)
	}
	return nil
}
