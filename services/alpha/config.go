package alpha

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
)

// Configuration of the alpha service.
type Configuration struct {
	// Rule is what makes a flow alpha and how long it is remembered.
	Rule detect.Rule `yaml:"rule"`
	// Window is how much of the past a nightly run reads unless its request says; 24 h.
	Window time.Duration `yaml:"window"`
	// NightlyAt is the local time of day, such as "02:00", of the nightly run; empty: never.
	NightlyAt string `yaml:"nightly_at"`
	// Policy is the policy of the change sets that a run creates.
	Policy string `yaml:"policy"`
	// Gate limits how much of an exporter's export may be missing or unknown.
	Gate Gate `yaml:"gate"`
}

// Gate holds the limits of the collection-quality gate (design: guards of a change set).
type Gate struct {
	// MaxLoss is the largest share of export packets or records that may be missing; 0.01.
	MaxLoss float64 `yaml:"max_loss"`
	// AllowUnknownSampling accepts exporters that do not announce their sampling rate. Their sums are then lower
	// bounds: nothing false is found, but flows are missed.
	AllowUnknownSampling bool `yaml:"allow_unknown_sampling"`
}

// DefaultConfiguration is the paper's rule, every night at 02:00.
func DefaultConfiguration() Configuration {
	return Configuration{
		Rule: detect.DefaultRule(), Window: 24 * time.Hour, NightlyAt: "02:00",
		Policy: "hntes-two-queue", Gate: Gate{MaxLoss: 0.01},
	}
}

// Validate returns what to write instead of an invalid value.
func (c Configuration) Validate() error {
	errs := []error{c.Rule.Validate()}
	if c.Window < c.Rule.Interval {
		errs = append(errs, fmt.Errorf("window %s is shorter than one interval (%s)", c.Window, c.Rule.Interval))
	}
	if c.Policy == "" {
		errs = append(errs, errors.New("policy is empty; the shipped one is hntes-two-queue"))
	}
	if c.Gate.MaxLoss < 0 || c.Gate.MaxLoss > 1 {
		errs = append(errs, fmt.Errorf("largest loss %g is not a share between 0 and 1", c.Gate.MaxLoss))
	}
	if _, err := parseTimeOfDay(c.NightlyAt); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
