package topology

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Configuration of the topology collector.
type Configuration struct {
	// Interval between readings of the link-state database. Default 10s. Routers do not announce its changes over
	// gNMI. When one announces that a port has changed, the database is read at once, and again within 6 s.
	Interval time.Duration `yaml:"interval"`
	// Republish is how long an unchanged network is not published. Default 20s. Readers take a longer silence to mean
	// that no collector reads the network.
	Republish time.Duration `yaml:"republish"`
	// Timeout bounds one reading of one router, connecting included. Default 10s.
	Timeout time.Duration `yaml:"timeout"`
	// MaxBackoff bounds the wait before a router that does not answer is tried again. Default 1m.
	MaxBackoff time.Duration `yaml:"max_backoff"`
	// Links are what the link-state database does not say of links, for circuits with a bound on delay, for those that
	// must not fail together, and for those that use links of some kind only. Default none.
	Links []LinkFacts `yaml:"links"`
}

// LinkFacts are what is known of all links between two routers, or of one of them, in both directions.
type LinkFacts struct {
	// A and Z are routers at the ends: names of the inventory, or router ids.
	A string `yaml:"a"`
	Z string `yaml:"z"`
	// Interface of A names one of several links between them. Default: all.
	Interface string `yaml:"interface"`
	// Delay one way, in whole microseconds up to 1m. Default 0, unknown: no circuit with a bound on delay uses it.
	Delay time.Duration `yaml:"delay"`
	// RiskGroups are its shared risk link groups (RFC 4202), such as the number of a duct. Default none.
	RiskGroups []uint32 `yaml:"risk_groups"`
	// AdminGroups are its administrative groups (RFC 7308), 0 to 63, which requests of circuits include or exclude:
	// what kind of line it is, or whose. Default none.
	AdminGroups []uint32 `yaml:"admin_groups"`
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
	for _, l := range c.Links {
		if err := l.validate(); err != nil {
			return fmt.Errorf("topology collector: links: %s to %s: %w", l.A, l.Z, err)
		}
	}
	return nil
}

// maxRiskGroups bounds what each search for a pair of paths looks at.
const maxRiskGroups = 100

// maxAdminGroup is the last that a link of the path engine has a bit for.
const maxAdminGroup = 63

func (l LinkFacts) validate() error {
	switch {
	case l.A == "" || l.Z == "" || l.A == l.Z:
		return errors.New("name two routers, a and z")
	case l.Delay < 0 || l.Delay > time.Minute || l.Delay%time.Microsecond != 0:
		return fmt.Errorf("delay %s: whole microseconds, 0s to 1m", l.Delay)
	case len(l.RiskGroups) > maxRiskGroups:
		return fmt.Errorf("%d risk groups are more than %d", len(l.RiskGroups), maxRiskGroups)
	case slices.ContainsFunc(l.AdminGroups, func(n uint32) bool { return n > maxAdminGroup }):
		return fmt.Errorf("admin groups %d: 0 to %d", l.AdminGroups, maxAdminGroup)
	}
	return nil
}
