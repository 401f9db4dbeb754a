package topology

import (
	"fmt"
	"time"
)

// Configuration of the topology collector.
type Configuration struct {
	// Interval between readings of the link-state database; 10 s. Routers do not announce its changes over gNMI.
	Interval time.Duration `yaml:"interval"`
	// Republish is how long an unchanged network is not published; 20 s. Readers take a longer silence to
	// mean that no collector reads the network.
	Republish time.Duration `yaml:"republish"`
	// Timeout bounds one reading of one router, connecting included; 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// MaxBackoff bounds the wait before a router that does not answer is tried again; 1 min.
	MaxBackoff time.Duration `yaml:"max_backoff"`
}

// DefaultConfiguration is the configuration without a file.
func DefaultConfiguration() Configuration {
	return Configuration{Interval: 10 * time.Second, Republish: 20 * time.Second, Timeout: 10 * time.Second, MaxBackoff: time.Minute}
}

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	if c.Interval <= 0 || c.Timeout <= 0 || c.MaxBackoff < c.Interval {
		return fmt.Errorf("topology collector: interval %s and timeout %s must be above 0, and the longest backoff %s not below the interval",
			c.Interval, c.Timeout, c.MaxBackoff)
	}
	if c.Republish <= 0 {
		return fmt.Errorf("topology collector: republish %s must be above 0", c.Republish)
	}
	return nil
}
