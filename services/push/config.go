package push

import (
	"fmt"
	"time"
)

// Configuration of the push service.
type Configuration struct {
	// RollbackAfter is how long a router waits for the confirmation of a commit before it
	// rolls it back. Default 60s; the commits of all routers of a small change set and
	// VerifyFor must fit into it, with a margin. A large one gets more, see CommitRate.
	RollbackAfter time.Duration `yaml:"rollback_after"`
	// VerifyFor is how long routers have to show the new state (LSP up, rules installed). Default 20s.
	VerifyFor time.Duration `yaml:"verify_for"`
	// CallTimeout bounds one request that changes nothing on a router. Default 10s.
	CallTimeout time.Duration `yaml:"call_timeout"`
	// CommitTimeout bounds one commit, confirmation or cancellation: the router answers when its kernel and routing
	// daemon have done it. Default 30s.
	CommitTimeout time.Duration `yaml:"commit_timeout"`
	// CommitRate is how many octets of configuration per second the slowest router checks and
	// installs. What a change set has for a router is divided by it, and every time-out for that
	// router is so much longer; RollbackAfter grows by what the commits of all routers and their
	// verification may take. Default 100000: a tenth of what the router agent does on two processors.
	CommitRate int `yaml:"commit_rate"`
	// PredictTimeout bounds the prediction of a change set whose author asked for one; nothing but the prediction waits
	// for it. Default 2m; twin.timeout bounds the simulation alone.
	PredictTimeout time.Duration `yaml:"predict_timeout"`
	// LockTTL is how long a router stays locked after a control plane that died. Default 15s.
	LockTTL time.Duration `yaml:"lock_ttl"`
	// Approval is who must approve a change set, unless its policy has a rule of its own in ApprovalOf.
	Approval Approval `yaml:"approval"`
	// ApprovalOf has rules of single policies, by the policy's name.
	ApprovalOf map[string]Approval `yaml:"approval_of"`
	// Canary has one router changed first and watched before the others are changed.
	Canary Canary `yaml:"canary"`
	// Window is when change sets may be applied. One that is to be applied outside of it is scheduled, and applied when
	// it opens. Rollbacks are not held up. Default: always.
	Window Window `yaml:"window"`
	// NightlyBudget is how much the change sets that the nightly run asks for may change a night, from noon to
	// noon local time. One that exceeds it is planned, and waits for a person even where the rule is auto.
	NightlyBudget Budget `yaml:"nightly_budget"`
}

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration {
	return Configuration{
		RollbackAfter:  60 * time.Second,
		VerifyFor:      20 * time.Second,
		CallTimeout:    10 * time.Second,
		CommitTimeout:  30 * time.Second,
		CommitRate:     100_000,
		PredictTimeout: 2 * time.Minute,
		LockTTL:        15 * time.Second,
		Canary:         Canary{MaxDrops: 0.01, MinPackets: 1000, Every: 5 * time.Second},
	}
}

// Validate refuses settings under which every change set would be rolled back.
func (c Configuration) Validate() error {
	for _, setting := range []struct {
		name  string
		value time.Duration
	}{
		{"rollback_after", c.RollbackAfter}, {"verify_for", c.VerifyFor}, {"call_timeout", c.CallTimeout},
		{"commit_timeout", c.CommitTimeout}, {"predict_timeout", c.PredictTimeout}, {"lock_ttl", c.LockTTL},
	} {
		if setting.value <= 0 {
			return fmt.Errorf("push: %s is %v; write a duration above zero", setting.name, setting.value)
		}
	}
	if c.RollbackAfter <= c.VerifyFor {
		return fmt.Errorf("push: rollback_after (%v) must be longer than verify_for (%v), or every router rolls back before it is verified", c.RollbackAfter, c.VerifyFor)
	}
	return c.validateGuards()
}
