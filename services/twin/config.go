package twin

import (
	"errors"
	"time"
)

// Configuration of the twin.
type Configuration struct {
	// Timeout bounds one prediction. Default 2m.
	Timeout time.Duration `yaml:"timeout"`
	// Parallel is how many predictions run at once, each on one processor; others wait. Default 1.
	Parallel int `yaml:"parallel"`
	// Window is how far back counters are read for the load of a port that a request does not state. Default 15m.
	Window time.Duration `yaml:"window"`
}

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration {
	return Configuration{Timeout: 2 * time.Minute, Parallel: 1, Window: 15 * time.Minute}
}

// Validate refuses what would let no prediction end.
func (c Configuration) Validate() error {
	if c.Timeout <= 0 || c.Window <= 0 {
		return errors.New("timeout and window must be positive")
	}
	if c.Parallel < 1 {
		return errors.New("parallel must be at least 1")
	}
	return nil
}
