package push

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/services/push/drift"
)

// Configuration of the push service.
type Configuration struct {
	// RollbackAfter is how long a router waits at least for the confirmation of a commit before it rolls it back.
	// Default 60s. It is longer where all waves of a change set may take longer: each CommitTimeout, 16 routers at a
	// time, then VerifyFor and CallTimeout.
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
	// PredictTimeout bounds the prediction of a change set whose author requested one; nothing but the
	// prediction waits for it. Default 2m; twin.timeout bounds the simulation alone.
	PredictTimeout time.Duration `yaml:"predict_timeout"`
	// LockTTL is how long a router stays locked after a control plane failed. Default 15s.
	LockTTL time.Duration `yaml:"lock_ttl"`
	// Approval is who must approve a change set, unless its policy has a rule of its own in ApprovalOf. Default one.
	Approval Approval `yaml:"approval"`
	// ApprovalOf has rules of single policies, by the policy's name. Default none. One without a rule has rule one.
	ApprovalOf map[string]Approval `yaml:"approval_of"`
	// ApprovalForCircuits is who must approve a change set that services/circuits requests because circuits
	// begin or end, where it changes nothing else; where it does, the policy's rule holds. Default auto.
	ApprovalForCircuits Approval `yaml:"approval_for_circuits"`
	// ApprovalForSplits is who must approve a change set that services/split requests because beta should be guaranteed
	// another share, where it changes nothing else and the policy says apply. Default: the rule of its policy.
	ApprovalForSplits Approval `yaml:"approval_for_splits"`
	// Canary has one router changed first and watched before the others are changed.
	Canary Canary `yaml:"canary"`
	// Window is when change sets may be applied. One that is to be applied outside of it is scheduled, and applied when
	// it opens. Rollbacks are not held up. Default: always.
	Window Window `yaml:"window"`
	// NightlyBudget is how much the change sets of the nightly run may change from noon to noon local time.
	// One that exceeds it is planned, and waits for a person even where the rule is auto.
	NightlyBudget Budget `yaml:"nightly_budget"`
	// Reconcile is about routers whose change set has ended.
	Reconcile Reconcile `yaml:"reconcile"`
	// Keep is how long change sets that have ended are kept.
	Keep Keep `yaml:"keep"`
}

// Keep bounds what change sets that have ended take in etcd: first their plans and diffs are deleted, much later the
// rest. One that waits, is under way, or is in force on some router, keeps everything.
type Keep struct {
	// Changes is how many of the newest change sets keep their plans, whatever their age. Default 200.
	Changes int `yaml:"changes"`
	// For is how long after its end a change set keeps its plan, and as long as it can be rolled back, because no later
	// one changed the same config entries. A later one whose plan was deleted counts as if it had changed all entries
	// of its routers. Default 2160h, 90 days; 0: as long as MaxOctets allows.
	For time.Duration `yaml:"for"`
	// MaxOctets is how much the plans and diffs of all change sets may take in etcd, compressed. Above it the
	// oldest are deleted, whatever Changes and For are: first of those that cannot be rolled back, then of the
	// others, but for the 10 newest. Default 0: half of etcd's quota.
	MaxOctets int64 `yaml:"max_octets"`
	// Records is how many change sets are kept at all, with their states and history. Default 5000; 0: all.
	Records int `yaml:"records"`
	// RecordsFor is how long after its end a change set is kept at all. Default 17520h, two years; 0: for ever.
	RecordsFor time.Duration `yaml:"records_for"`
}

// validate refuses limits that contradict each other.
func (k Keep) validate() error {
	switch {
	case k.Changes < 0 || k.For < 0 || k.MaxOctets < 0 || k.Records < 0 || k.RecordsFor < 0:
		return errors.New("push: keep has a number below 0; write 0 or more")
	case k.Records > 0 && k.Records < k.Changes:
		return fmt.Errorf("push: keep.records (%d) is below keep.changes (%d), whose plans are kept", k.Records, k.Changes)
	case k.RecordsFor > 0 && (k.RecordsFor < k.For || k.RecordsFor < leastRecordsFor):
		return fmt.Errorf("push: keep.records_for (%v) must be at least keep.for (%v) and %v, which the nightly budget looks back", k.RecordsFor, k.For, leastRecordsFor)
	}
	return nil
}

// leastRecordsFor: the nightly budget is counted from noon to noon.
const leastRecordsFor = 48 * time.Hour

// Reconcile is how often routers are read again, and what is done about one whose running config differs from
// what change sets left.
type Reconcile struct {
	// Every is how long after a reading a router is read again, give or take a tenth; one that answers again after it
	// did not is read at once. Default 10m; 0 reads none.
	Every time.Duration `yaml:"every"`
	// Answer is report, request (request a change set that restores the router; it waits for approval) or repair (the
	// same, approved by this rule and applied). Default report.
	Answer string `yaml:"answer"`
	// AskAgain is how long after a repair the next one of the same router may be requested. Default 1h.
	AskAgain time.Duration `yaml:"ask_again"`
}

// validate rejects settings without effect.
func (r Reconcile) validate() error {
	switch {
	case r.Every < 0:
		return fmt.Errorf("push: reconcile.every is %v; write a duration, or 0 to read no router", r.Every)
	case r.Every > 0 && !slices.Contains(drift.Answers, drift.Answer(r.Answer)):
		return fmt.Errorf("push: reconcile.answer is %q; write one of %q", r.Answer, drift.Answers)
	case r.Every > 0 && r.AskAgain <= 0:
		return fmt.Errorf("push: reconcile.ask_again is %v; write a duration above zero", r.AskAgain)
	}
	return nil
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

		Approval:            Approval{Rule: "one"},
		ApprovalForCircuits: Approval{Rule: "auto"},

		Canary:    Canary{MaxDrops: 0.01, MinPackets: 1000, Every: 5 * time.Second},
		Reconcile: Reconcile{Every: 10 * time.Minute, Answer: string(drift.Report), AskAgain: time.Hour},
		Keep:      Keep{Changes: 200, For: 90 * 24 * time.Hour, Records: 5000, RecordsFor: 2 * 365 * 24 * time.Hour},
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
	if c.CommitRate <= 0 {
		return fmt.Errorf("push: commit_rate is %d; write how many octets per second a router installs", c.CommitRate)
	}
	if c.RollbackAfter <= c.VerifyFor {
		return fmt.Errorf("push: rollback_after (%v) must be longer than verify_for (%v), or every router rolls back before it is verified", c.RollbackAfter, c.VerifyFor)
	}
	return errors.Join(c.Reconcile.validate(), c.Keep.validate(), c.validateGuards())
}
