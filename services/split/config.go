package split

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/split"
	"github.com/millrace/millrace/services/split/follow"
)

// Configuration of the split service. Which ports it follows, and how, is the policy's to say.
type Configuration struct {
	// Interval is how often counters are read and each port is decided about. Default 30s.
	Interval time.Duration `yaml:"interval"`
	// RoundTimeout is how long that may take: what has not answered is asked again in the next round. Default 1m.
	RoundTimeout time.Duration `yaml:"round_timeout"`
	// Step is what a sample of a port's load is the mean of: at least twice telemetry.interval. Default 30s.
	Step time.Duration `yaml:"step"`
	// Stale is how old the newest counters of a port may be, and how far apart two readings, if a sample is to lie
	// between them. Default 5m.
	Stale time.Duration `yaml:"stale"`
	// Days is how many days of counters are read when a port is seen for the first time. Default 3.
	Days int `yaml:"days"`
	// AfterPerson is how long a port is left alone after a person gave it a share, rolled back a change set of this
	// service or aborted one. Default 24h.
	AfterPerson time.Duration `yaml:"after_person"`
	// Patience is how long a proposal waits for a person; then another one may be made. Default 4h.
	Patience time.Duration `yaml:"patience"`
	// Retry is the pause after a change set that failed; it doubles with each failure, up to AfterPerson. Default 30m.
	Retry time.Duration `yaml:"retry"`
	// Law has the parameters of the law.
	Law Law `yaml:"law"`
}

// Law are the parameters of docs/reference/split.md that an operator may change; the limits are the policy's.
type Law struct {
	// Step is what a share is a multiple of, percent. Default 5.
	Step int `yaml:"step"`
	// Headroom is how much more than its demand beta is guaranteed, percent of the demand. Default 25.
	Headroom float64 `yaml:"headroom"`
	// Guard is how much of it must be left before the share is raised. Default 10.
	Guard float64 `yaml:"guard"`
	// Hysteresis is by how much lower a share must be to be worth a move, percent of the present one. Default 33.
	Hysteresis float64 `yaml:"hysteresis"`
	// MinInterval is between two moves of a port, but for a raise while beta is short of its demand. Default 15m.
	MinInterval time.Duration `yaml:"min_interval"`
	// Settle is for how long beta must have been short, and between two moves while it is. Default 1m.
	Settle time.Duration `yaml:"settle"`
	// HoldDown is for how long a lower share must have been enough before it is taken. Default 1h.
	HoldDown time.Duration `yaml:"hold_down"`
	// Horizon is how far ahead demand must stay below a lower share. Default 4h.
	Horizon time.Duration `yaml:"horizon"`
	// Moves is how many change sets may be requested for a port in 24 hours. Default 12.
	Moves int `yaml:"moves"`
	// MaxLoss is the loss of beta, percent of what it offers, from which its load does not adapt. Default 1.
	MaxLoss float64 `yaml:"max_loss"`
}

// within is the law with a policy's limits.
func (c Law) within(least, most int) split.Law {
	return split.Law{
		Limits: split.Limits{Min: least, Max: most, Step: c.Step}, Headroom: c.Headroom, Guard: c.Guard, Hysteresis: c.Hysteresis,
		MinInterval: c.MinInterval, Settle: c.Settle, HoldDown: c.HoldDown, Horizon: c.Horizon, Moves: c.Moves, MaxLoss: c.MaxLoss,
	}
}

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration {
	l := split.Default()
	return Configuration{
		Interval: 30 * time.Second, RoundTimeout: time.Minute, Step: 30 * time.Second, Stale: 5 * time.Minute, Days: 3,
		AfterPerson: 24 * time.Hour, Patience: 4 * time.Hour, Retry: 30 * time.Minute,
		Law: Law{
			Step: l.Step, Headroom: l.Headroom, Guard: l.Guard, Hysteresis: l.Hysteresis, MinInterval: l.MinInterval,
			Settle: l.Settle, HoldDown: l.HoldDown, Horizon: l.Horizon, Moves: l.Moves, MaxLoss: l.MaxLoss,
		},
	}
}

// mostDays of counters are read; telemetry is not kept for longer by default.
const mostDays = 14

// Validate names the setting that is out of range.
func (c Configuration) Validate() error {
	switch {
	case c.Interval <= 0 || c.RoundTimeout <= 0 || c.Step <= 0 || c.Retry <= 0 || c.Patience <= 0 || c.AfterPerson <= 0:
		return errors.New("write interval, round_timeout, step, retry, patience and after_person above 0")
	case c.Stale < c.Step:
		return fmt.Errorf("stale (%v) is shorter than step (%v): no sample would be new enough", c.Stale, c.Step)
	case c.Days < 1 || c.Days > mostDays:
		return fmt.Errorf("days is %d; write 1 to %d", c.Days, mostDays)
	}
	d := split.Default()
	if err := c.Law.within(d.Min, d.Max).Validate(); err != nil {
		return fmt.Errorf("law: %w", err)
	}
	return nil
}

func (c Configuration) manners() follow.Manners {
	return follow.Manners{AfterPerson: c.AfterPerson, Patience: c.Patience, Retry: c.Retry}
}
