package push

import "time"

// Configuration of the push service.
type Configuration struct {
	// RollbackAfter is how long a router waits for the confirmation of what it was sent before it takes it back. Default 60s;
	// it must hold the commits of all routers of a small change set, VerifyFor and a margin. A large one gets more, see CommitRate.
	RollbackAfter time.Duration `yaml:"rollback_after"`
	// VerifyFor is how long routers have to show the new state (LSP up, rules installed). Default 20s.
	VerifyFor time.Duration `yaml:"verify_for"`
	// CallTimeout bounds one question to a router. Default 10s.
	CallTimeout time.Duration `yaml:"call_timeout"`
	// CommitTimeout bounds one commit, confirmation or cancellation: the router answers when its kernel and routing
	// daemon have done it. Default 30s.
	CommitTimeout time.Duration `yaml:"commit_timeout"`
	// CommitRate is how many octets of configuration per second the slowest router checks and installs. What a change set
	// has for a router is divided by it, and every time-out for that router is so much longer; RollbackAfter grows by
	// what the commits of all routers and their verification may take. Default 100000: a tenth of what the router agent
	// does on two processors.
	CommitRate int `yaml:"commit_rate"`
	// LockTTL is how long a router stays locked after a control plane that died. Default 15s.
	LockTTL time.Duration `yaml:"lock_ttl"`
}

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration {
	return Configuration{
		RollbackAfter: 60 * time.Second,
		VerifyFor:     20 * time.Second,
		CallTimeout:   10 * time.Second,
		CommitTimeout: 30 * time.Second,
		CommitRate:    100_000,
		LockTTL:       15 * time.Second,
	}
}
