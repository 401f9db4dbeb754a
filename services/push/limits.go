package push

import (
	"time"

	"github.com/millrace/millrace/services/push/diff"
)

// allowance is how much longer than a small change one of this size may take on a router that installs rate
// octets per second. A Set is answered when all of it is done and reports no progress before, so only its
// size is known: with one time-out for all sizes a slow router never gets a large change through, and with
// the time-out of the largest a router that hangs is noticed late.
func allowance(changes []diff.Change, rate int) time.Duration {
	octets := 0
	for _, c := range changes {
		octets += len(c.Path) + max(len(c.Before), len(c.After))
	}
	return lasting(octets, rate)
}

// allowanceOf is how much longer a router may take that has to return this configuration.
func allowanceOf(entries map[string]string, rate int) time.Duration {
	octets := 0
	for path, body := range entries {
		octets += len(path) + len(body)
	}
	return lasting(octets, rate)
}

func lasting(octets, rate int) time.Duration {
	return time.Duration(float64(octets) / float64(max(rate, 1)) * float64(time.Second))
}

// together is how long routers may take that are spoken to at once, some at a time: the slowest of each turn.
func together(routers []string, each map[string]time.Duration) (total time.Duration) {
	for len(routers) > 0 {
		turn := routers[:min(parallelRouters, len(routers))]
		routers = routers[len(turn):]
		slowest := time.Duration(0)
		for _, name := range turn {
			slowest = max(slowest, each[name])
		}
		total += slowest
	}
	return total
}

// sendingFor is how long it may take until each of these routers has applied its commit.
func sendingFor(cfg Configuration, routers []string, extra map[string]time.Duration) time.Duration {
	commit := map[string]time.Duration{}
	for _, name := range routers {
		commit[name] = cfg.CommitTimeout + extra[name]
	}
	return together(routers, commit)
}

// rollbackAfter is how long the first router that committed must wait for its confirmation: while all waves commit,
// while all routers are verified, and until its confirmation arrives. extra is what a router may take longer.
func rollbackAfter(cfg Configuration, waves [][]string, extra map[string]time.Duration) time.Duration {
	commit, verify := map[string]time.Duration{}, map[string]time.Duration{}
	var all []string
	total := cfg.CallTimeout
	for _, wave := range waves {
		for _, name := range wave {
			commit[name], verify[name] = cfg.CommitTimeout+extra[name], cfg.VerifyFor+extra[name]
		}
		total += together(wave, commit)
		all = append(all, wave...)
	}
	return max(cfg.RollbackAfter, total+together(all, verify))
}
