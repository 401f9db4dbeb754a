package topology

import (
	"fmt"
	"time"
)

// Configuration of the topology collector.
type Configuration struct {
	// Interval between readings of the link-state database; 10 s. Routers do not announce its changes over gNMI.
	Interval time.Duration `yaml:"interval"`
	// Timeout bounds one reading of one router, connecting included; 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// MaxBackoff bounds the wait before a router that does not answer is tried again; 1 min.
	MaxBackoff time.Duration `yaml:"max_backoff"`
}

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration {
	return Configuration{Interval: 10 * time.Second, Timeout: 10 * time.Second, MaxBackoff: time.Minute}
}

// Validate says what to write instead of a value that makes no sense.
func (c Configuration) Validate() error {
	if c.Interval <= 0 || c.Timeout <= 0 || c.MaxBackoff < c.Interval {
		return fmt.Errorf("topology collector: interval %s and timeout %s must be above 0, and the longest backoff %s not below the interval",
			c.Interval, c.Timeout, c.MaxBackoff)
	}
	return nil
}
