package alpha

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/gate"
	"github.com/millrace/millrace/services/alpha/online"
)

// Configuration of the alpha service.
type Configuration struct {
	// Rule is what makes a flow alpha and how long it is remembered.
	Rule detect.Rule `yaml:"rule"`
	// Window is how much of the past a nightly run reads at least, unless its request sets it. Default 24h.
	Window time.Duration `yaml:"window"`
	// Overlap is how far before the end of the last run that succeeded the next one starts, for records that came
	// after it: at least twice the exporters' active timeout. Default 2h.
	Overlap time.Duration `yaml:"overlap"`
	// MaxWindow is how much of the past a run reads at most where others before it failed. Default 168h, 7 days.
	MaxWindow time.Duration `yaml:"max_window"`
	// NightlyAt is the local time of day of the nightly run. Default "02:00"; empty: never.
	NightlyAt string `yaml:"nightly_at"`
	// Policy is the policy of the change sets that a run creates. Default hntes-two-queue.
	Policy string `yaml:"policy"`
	// Gate limits how much of an exporter's export may be missing or unknown.
	Gate gate.Limits `yaml:"gate"`
	// Online is what is done while flows go on, before any nightly run.
	Online Online `yaml:"online"`
}

// Online is how alpha flows are found while they go on.
type Online struct {
	// Mode is off, alarm (an event for each pair that is alpha and not in force) or propose (a change set that
	// redirects it as well, under the approval rule and the nightly budget). Default alarm.
	Mode Mode `yaml:"mode"`
	// Hold is how long a pair stays alpha after the last record that kept it so: longer than the exporters' active
	// timeout, so that one transfer is one alarm. Default 5m.
	Hold time.Duration `yaml:"hold"`
	// Memory bounds what is remembered of flows.
	Memory online.Limits `yaml:"memory"`
}

// Mode of online detection.
type Mode string

// The modes.
const (
	Off     Mode = "off"
	Alarm   Mode = "alarm"
	Propose Mode = "propose"
)

func (o Online) validate(rule detect.Rule) error {
	switch {
	case o.Mode != Off && o.Mode != Alarm && o.Mode != Propose:
		return fmt.Errorf("online mode %q: use off, alarm or propose", o.Mode)
	case o.Hold < rule.Interval:
		return fmt.Errorf("online hold %s is shorter than one interval (%s)", o.Hold, rule.Interval)
	}
	return o.Memory.Validate(rule)
}

// Memory is how much online detection holds at most, in octets.
func (c Configuration) Memory() int64 {
	if c.Online.Mode == Off || c.Online.validate(c.Rule) != nil {
		return 0
	}
	return c.Online.Memory.Memory(c.Rule)
}

// DefaultConfiguration is the paper's rule, daily at 02:00.
func DefaultConfiguration() Configuration {
	return Configuration{
		Rule: detect.DefaultRule(), Window: 24 * time.Hour, Overlap: 2 * time.Hour, MaxWindow: 7 * 24 * time.Hour, NightlyAt: "02:00",
		Policy: "hntes-two-queue", Gate: gate.Limits{MaxLoss: 0.01},
		Online: Online{Mode: Alarm, Hold: 5 * time.Minute, Memory: online.DefaultLimits()},
	}
}

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	errs := []error{c.Rule.Validate(), c.Gate.Validate()}
	if c.Window < c.Rule.Interval {
		errs = append(errs, fmt.Errorf("window %s is shorter than one interval (%s)", c.Window, c.Rule.Interval))
	}
	if c.Policy == "" {
		errs = append(errs, errors.New("policy is empty; the shipped one is hntes-two-queue"))
	}
	if c.Overlap < 0 {
		errs = append(errs, fmt.Errorf("overlap %s is negative", c.Overlap))
	}
	if c.MaxWindow < c.Window+c.Overlap {
		errs = append(errs, fmt.Errorf("max window %s is shorter than window and overlap together (%s)", c.MaxWindow, c.Window+c.Overlap))
	}
	if err := c.Online.validate(c.Rule); err != nil {
		errs = append(errs, err)
	}
	if _, err := parseTimeOfDay(c.NightlyAt); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
