package push

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones of maintenance windows, also where the machine lacks them

	"github.com/millrace/millrace/services/push/guard"
)

// Approval is who must approve change sets.
type Approval struct {
	// Rule is auto (a change set is approved and applied by itself), one (person) or two (persons).
	Rule string `yaml:"rule"`
	// OtherThanAuthor means that the requester of a change set cannot approve it. Default false. People are those
	// who logged in; with identity.mode off they are the names that they give, and anybody can give another one.
	OtherThanAuthor bool `yaml:"other_than_author"`
}

var approvalRules = map[string]int{"auto": 0, "one": 1, "two": 2}

func (a Approval) validate(name string) error {
	persons, known := approvalRules[cmp.Or(a.Rule, "one")]
	switch {
	case !known:
		return fmt.Errorf("push: %s.rule is %q; write auto, one or two", name, a.Rule)
	case persons == 0 && a.OtherThanAuthor:
		return fmt.Errorf("push: %s: no person approves under rule auto, so leave out other_than_author, or write one", name)
	}
	return nil
}

func (a Approval) rule() guard.Rule {
	return guard.Rule{Persons: approvalRules[cmp.Or(a.Rule, "one")], NotAuthor: a.OtherThanAuthor}
}

// Budget is how much may be changed; 0 is no limit.
type Budget struct {
	// Entries of the routers' configuration that are added, changed or removed. Default 0: no limit.
	Entries int `yaml:"entries"`
	// Routers that are changed; one that two change sets change counts twice. Default 0: no limit.
	Routers int `yaml:"routers"`
	// LSPs that are added, changed or removed. Default 0: no limit.
	LSPs int `yaml:"lsps"`
}

func (b Budget) limit() guard.Budget { return guard.Budget(b) }

// Canary is how long the first router of a change set is observed, and the limits that it must keep.
type Canary struct {
	// For is how long it is watched. Default 0: there is no canary.
	For time.Duration `yaml:"for"`
	// MaxDrops is the largest share of its packets that one of its queues may drop meanwhile. Default 0.01.
	MaxDrops float64 `yaml:"max_drops"`
	// MinPackets is how many packets a queue is offered before its share is judged. Default 1000.
	MinPackets int `yaml:"min_packets"`
	// Every is how often its counters are read. Default 5s; telemetry.interval is how often there are new
	// ones.
	Every time.Duration `yaml:"every"`
}

func (c Canary) validate() error {
	switch {
	case c.For < 0:
		return fmt.Errorf("push: canary.for is %v; write a duration, or 0 for no canary", c.For)
	case c.For > 0 && (c.MaxDrops < 0 || c.MaxDrops >= 1):
		return fmt.Errorf("push: canary.max_drops is %v; write a share such as 0.01", c.MaxDrops)
	case c.For > 0 && (c.MinPackets < 1 || c.Every <= 0):
		return fmt.Errorf("push: canary.min_packets is %d and every %v; write numbers above 0", c.MinPackets, c.Every)
	}
	return nil
}

// Window is a maintenance window.
type Window struct {
	// Days on which the window opens, such as [mon, tue]. Default none: every day.
	Days []string `yaml:"days"`
	// From is the time of day at which the window opens, such as "22:00". Default none: it is always open.
	From string `yaml:"from"`
	// To is the time of day at which the window closes; on the next day where it is not after From.
	To string `yaml:"to"`
	// Zone is the time zone of From and To, such as Europe/Berlin. Default: that of the process.
	Zone string `yaml:"zone"`
}

// parse is the window as it is decided about.
func (w Window) parse() (out guard.Window, err error) {
	if w.From == "" && w.To == "" && len(w.Days) == 0 {
		return out, nil
	}
	from, err := time.Parse("15:04", w.From)
	to, err2 := time.Parse("15:04", w.To)
	if err != nil || err2 != nil {
		return out, fmt.Errorf("push: window from %q to %q; write times of day, such as \"22:00\" and \"05:00\"", w.From, w.To)
	}
	midnight, _ := time.Parse("15:04", "00:00")
	out.From, out.To, out.Zone = from.Sub(midnight), to.Sub(midnight), time.Local
	if w.Zone != "" {
		if out.Zone, err = time.LoadLocation(w.Zone); err != nil {
			return out, fmt.Errorf("push: window.zone: %w; write a name such as Europe/Berlin", err)
		}
	}
	for _, name := range w.Days {
		day := slices.Index(weekdays, strings.ToLower(name))
		if day < 0 {
			return out, fmt.Errorf("push: window.days has %q; write %s", name, strings.Join(weekdays, ", "))
		}
		out.Days = append(out.Days, time.Weekday(day))
	}
	return out, nil
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// approvalOf is the rule of a policy: its own, or that of all.
func (c Configuration) approvalOf(policy string) guard.Rule {
	if own, ok := c.ApprovalOf[policy]; ok {
		return own.rule()
	}
	return c.Approval.rule()
}

// validateGuards rejects guards without effect.
func (c Configuration) validateGuards() error {
	if err := errors.Join(c.Approval.validate("approval"), c.ApprovalForCircuits.validate("approval_for_circuits"), c.ApprovalForSplits.validate("approval_for_splits")); err != nil {
		return err
	}
	if b := c.NightlyBudget; b.Entries < 0 || b.Routers < 0 || b.LSPs < 0 {
		return fmt.Errorf("push: nightly_budget %+v has a number below 0; write 0 for no limit", b)
	}
	if err := c.Canary.validate(); err != nil {
		return err
	}
	if _, err := c.Window.parse(); err != nil {
		return err
	}
	for policy, a := range c.ApprovalOf {
		if err := a.validate("approval_of." + policy); err != nil {
			return err
		}
	}
	return nil
}
