package vpn

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Configuration of the VPN service.
type Configuration struct {
	// Dir is the folder of VPN policies, *.yaml, as in policies/vpn. Default none: weights are set by operators.
	Dir string `yaml:"dir"`
	// Policy is the name of the policy to follow; optional if the folder has one file. `millrace vpn weights --policy`
	// overrides it.
	Policy string `yaml:"policy"`
	// Interval is the period in which PEs are polled and the folder is read. Default 1s, the period of the agents'
	// measurement.
	Interval time.Duration `yaml:"interval"`
	// Timeout bounds one request to a PE. Default 2s.
	Timeout time.Duration `yaml:"timeout"`
	// Settle is how long a change waits for the PEs before it reports which have it. Default 3s.
	Settle time.Duration `yaml:"settle"`
	// Routes is the period in which links and routes are read from the topology. Default 15s.
	Routes time.Duration `yaml:"routes"`
	// History is the number of changes that are kept. Default 1000.
	History int `yaml:"history"`
}

// RelativeTo resolves the folder of policies against that of the configuration file.
func (c *Configuration) RelativeTo(folder string) {
	if c.Dir != "" && !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(folder, c.Dir)
	}
}

// DefaultConfiguration follows no policy.
func DefaultConfiguration() Configuration {
	return Configuration{Interval: time.Second, Timeout: 2 * time.Second, Settle: 3 * time.Second, Routes: 15 * time.Second, History: 1000}
}

// Validate returns an error that names a valid value.
func (c Configuration) Validate() error {
	switch {
	case c.Interval < 100*time.Millisecond:
		return fmt.Errorf("vpn interval %s: agents measure once a second; use at least 100ms", c.Interval)
	case c.Timeout <= 0 || c.Settle <= 0 || c.Routes <= 0:
		return errors.New("vpn timeout, settle and routes must be above 0")
	case c.History < 2:
		return fmt.Errorf("vpn history %d: keep at least 2 changes, or no roll-back is possible", c.History)
	case c.Policy != "" && c.Dir == "":
		return fmt.Errorf("vpn policy %s: set vpn dir to the folder it is in", c.Policy)
	}
	return nil
}
