package telemetry

import (
	"fmt"
	"time"
)

// Configuration of the telemetry collector.
type Configuration struct {
	// Interval between samples of every counter. Default 10s.
	Interval time.Duration `yaml:"interval"`
	// MinBackoff is how long the first wait is before a router is dialled again. Default 500ms.
	MinBackoff time.Duration `yaml:"min_backoff"`
	// MaxBackoff bounds that wait, which grows with each failure. Default 30s.
	MaxBackoff time.Duration `yaml:"max_backoff"`
	// DialTimeout bounds one attempt to connect. Default 10s.
	DialTimeout time.Duration `yaml:"dial_timeout"`
}

// DefaultConfiguration is the configuration without a file.
func DefaultConfiguration() Configuration {
	return Configuration{
		Interval: 10 * time.Second, MinBackoff: 500 * time.Millisecond, MaxBackoff: 30 * time.Second, DialTimeout: 10 * time.Second,
	}
}

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	switch {
	case c.Interval < 100*time.Millisecond:
		return fmt.Errorf("telemetry interval %s: routers sample no faster than every 100ms", c.Interval)
	case c.MinBackoff <= 0 || c.MaxBackoff < c.MinBackoff:
		return fmt.Errorf("telemetry backoff %s to %s: the first must be above 0 and not above the second", c.MinBackoff, c.MaxBackoff)
	case c.DialTimeout <= 0:
		return fmt.Errorf("telemetry dial timeout %s: must be above 0", c.DialTimeout)
	}
	return nil
}

// silence is how long a stream may bring no counters before it counts as broken: interfaces always have
// counters, so samples always come.
func (c Configuration) silence() time.Duration { return 3*c.Interval + 5*time.Second }
