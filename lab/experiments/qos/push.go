package qos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/openconfig"
)

// router is one router's agent, as the control plane and as a telemetry collector would reach it.
type router struct {
	name   string
	driver driver.Driver
	client *gnmiclient.Client
	held   map[string]string
}

// Push is one policy put in force.
type Push struct {
	Phase  string `json:"phase"`
	Policy string `json:"policy"`
	// Units changed, and how long commit, verification and confirmation took.
	Units   int      `json:"units"`
	Seconds float64  `json:"seconds"`
	Checks  []string `json:"checks"`
}

const (
	// agentsUp bounds the wait for agents, which start last in a busy guest.
	agentsUp = time.Minute
	// rollbackAfter is how long a router waits for the confirmation.
	rollbackAfter = 2 * time.Minute
	verifyFor     = 20 * time.Second
	pause         = 250 * time.Millisecond
)

// connect opens both connections to every router with an agent.
func (r *run) connect(ctx context.Context) error {
	r.routers = map[string]*router{}
	inventory, err := device.Load(r.lab.Inventory())
	if err != nil {
		return err
	}
	credentials, err := inventory.ClientTLS()
	if err != nil {
		return err
	}
	opener := openconfig.Opener{Credentials: credentials, Dialer: r.lab.Dial}
	ctx, cancel := context.WithTimeout(ctx, agentsUp)
	defer cancel()
	for _, node := range r.scenario.Routers {
		if !node.Agent {
			continue
		}
		d, known := inventory.ByName(node.Name)
		if !known {
			return fmt.Errorf("the lab's inventory has no %s", node.Name)
		}
		one := &router{name: node.Name}
		for one.client == nil {
			if one.client, err = gnmiclient.DialBy(ctx, d, credentials, r.lab.Dial); err != nil {
				one.client = nil
				if err := sleep(ctx, pause, err); err != nil {
					return err
				}
			}
		}
		if one.driver, err = opener.Open(ctx, d); err != nil {
			return err
		}
		r.routers[node.Name] = one
	}
	return nil
}

// sleep waits, or gives the last error when the context is over.
func sleep(ctx context.Context, d time.Duration, last error) error {
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err(), last)
	case <-time.After(d):
		return nil
	}
}

func (r *run) disconnect() {
	for _, one := range r.routers {
		_ = one.client.Close()
		_ = one.driver.Close()
	}
}

// push brings every router to what the policy gives it: one commit each, taken
// back by the router itself unless all of it is there and confirmed.
func (r *run) push(ctx context.Context, phase string, use *scenario.PolicyUse) error {
	began := time.Now()
	p := Push{Phase: phase, Policy: use.Use}
	for _, name := range slices.Sorted(maps.Keys(r.routers)) {
		one := r.routers[name]
		n, checks, err := one.bring(ctx, fmt.Sprintf("lab-%s-%d", name, time.Now().UnixNano()), r.plans[use][name])
		if err != nil {
			return fmt.Errorf("push policy %s to %s: %w", use.Use, name, err)
		}
		p.Units += n
		for _, c := range checks {
			p.Checks = append(p.Checks, name+": "+c.Text)
		}
	}
	p.Seconds = time.Since(began).Seconds()
	r.say(fmt.Sprintf("  policy %s is in force: %d units changed in %.1f s", use.Use, p.Units, p.Seconds))
	r.metrics[phase+"/policy/seconds"], r.metrics[phase+"/policy/units"] = p.Seconds, float64(p.Units)
	r.result.Pushes = append(r.result.Pushes, p)
	return nil
}

// bring commits, verifies and confirms; it does nothing where nothing differs.
func (o *router) bring(ctx context.Context, id string, want map[string]string) (int, []driver.Check, error) {
	if o.held == nil {
		held, err := o.driver.Snapshot(ctx)
		if err != nil {
			return 0, nil, err
		}
		if len(held.Foreign) > 0 {
			return 0, nil, fmt.Errorf("it holds what is not ours: %v", held.Foreign)
		}
		if err := o.driver.Probe(ctx); err != nil {
			return 0, nil, err
		}
		o.held = held.Units
	}
	changes := diff.Of(o.held, want)
	if len(changes) == 0 {
		return 0, nil, nil
	}
	expected, err := driver.Expect(want)
	if err != nil {
		return 0, nil, err
	}
	if err := o.driver.Commit(ctx, driver.Commit{ID: id, Rollback: rollbackAfter, Changes: changes}); err != nil {
		return 0, nil, fmt.Errorf("commit: %w", err)
	}
	checks, err := o.verify(ctx, changes, expected)
	if err != nil {
		return 0, nil, errors.Join(err, o.driver.Cancel(ctx, id))
	}
	if err := o.driver.Confirm(ctx, id); err != nil {
		return 0, nil, fmt.Errorf("confirm: %w", err)
	}
	o.held = want
	return len(changes), checks, nil
}

// verify asks configuration and state until both are as they should be.
func (o *router) verify(ctx context.Context, changes []diff.Change, e driver.Expectation) ([]driver.Check, error) {
	for deadline := time.Now().Add(verifyFor); ; {
		held, err := o.driver.Snapshot(ctx)
		if err != nil {
			return nil, fmt.Errorf("read back: %w", err)
		}
		checks, err := o.driver.Verify(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
		wrong := diff.Holds(held.Units, changes, diff.After)
		for _, c := range checks {
			if !c.OK {
				wrong = append(wrong, c.Text)
			}
		}
		if len(wrong) == 0 {
			return checks, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("verification failed: %s", strings.Join(wrong, "; "))
		}
		if err := sleep(ctx, pause, nil); err != nil {
			return nil, err
		}
	}
}
