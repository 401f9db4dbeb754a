package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// Configuration of a Store.
type Configuration struct {
	// Dir holds the journal, and the last known speeds of ports.
	Dir string
	// Hardware finds interfaces, with speed 0 where it is unknown now, and buffer 0 where none is given:
	// Store.Hardware fills both in.
	Hardware intent.Hardware
	// Interfaces lists the names a configuration may refer to.
	Interfaces func() []string
	// After runs f once d has passed, unless stop comes first; nil: by the clock.
	After func(d time.Duration, f func()) (stop func())
}

// byTheClock is After of time.AfterFunc.
func byTheClock(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// Store is the running configuration and the only way to change it.
type Store struct {
	cfg    Configuration
	engine *Engine

	writer    sync.Mutex // held through a whole change
	validator *tree.Validator
	compiler  intent.Compiler
	journal   *journal
	speeds    *speeds

	mu      sync.Mutex // guards what follows
	running *tree.Node // never changed in place
	plan    intent.Plan
	// misfit is why the running configuration has no plan, such as a circuit on a port that the router itself has come
	// to need; nil if it has one.
	// Then nothing may be converged to: the empty plan would take away everything.
	misfit  error
	pending *pending
	disarm  func() // stops the clock of pending; nil: none runs
	changed chan struct{}
	drift   error
	stopped bool
	// late is set while the journal is behind the running configuration, because the disk takes nothing.
	late bool
}

// Errors of commit-confirm, each with its own gRPC status (gNMI commit-confirmed section 4).
var (
	ErrPending   = errors.New("a commit is waiting for its confirmation")
	ErrNoPending = errors.New("no commit is waiting for a confirmation")
	ErrCommitID  = errors.New("the commit that is waiting has another id")
)

// ErrJournal wraps an error of the disk: nothing changed, a commit that was waiting still waits.
var ErrJournal = errors.New("not written to the journal")

// ErrApply wraps an error after validation: the change was rolled back.
var ErrApply = errors.New("not applied")

// NewStore is inert; Recover reads the journal.
func NewStore(cfg Configuration, e *Engine) *Store {
	if cfg.After == nil {
		cfg.After = byTheClock
	}
	return &Store{cfg: cfg, engine: e, running: tree.New(), validator: tree.NewValidator(), journal: newJournal(cfg.Dir), speeds: newSpeeds(cfg.Dir), changed: make(chan struct{})}
}

// Recover brings the router to the journal's configuration after a start. A
// commit that still waits for its confirmation is rolled back at once: its timer
// ended with the agent, and a restart during the trial means that it failed.
func (s *Store) Recover(ctx context.Context) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	r, err := s.journal.read()
	if err != nil {
		return err
	}
	s.speeds.read(s.engine.Log)
	if r.Pending != nil {
		s.engine.Log.Warn("commit was never confirmed; returning to the configuration before it", "commit", r.Pending.ID)
		r = record{Config: r.Pending.Config, IDs: r.Pending.IDs}
	}
	// The configuration is kept although the router may not take all of it yet: FRR may be starting, or an interface
	// be missing.
	s.restore(ctx, r.Config, r.IDs)
	s.keep() // a start from the journal as it is comes here again
	return nil
}

// recompile compiles a configuration that was accepted earlier. If it does not fit the router any more, the plan
// has its IDs and nothing else.
func (s *Store) recompile(config *tree.Node, ids intent.IDs) (intent.Plan, error) {
	plan, err := s.compile(config, ids)
	if err != nil {
		return intent.Plan{IDs: ids}, fmt.Errorf("configuration does not fit this router now: %w", err)
	}
	return plan, nil
}

// setPlan replaces the plan of the running configuration, because ports have come, gone or changed their speeds.
func (s *Store) setPlan(plan intent.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.misfit = plan, nil
}

func (s *Store) setMisfit(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misfit = err
}

func (s *Store) fits() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.misfit
}

// Running is the running configuration and its plan. Do not change it.
func (s *Store) Running() (*tree.Node, intent.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running, s.plan
}

// Changed is closed at the next change of the configuration.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Confirmation requests commit-confirm.
type Confirmation struct {
	ID       string
	Duration time.Duration
}

// Edit changes the configuration: edit works on a copy, the copy is judged,
// compiled and applied, and only then is it the running one. With a
// confirmation the change is rolled back unless it is confirmed in time.
func (s *Store) Edit(ctx context.Context, edit func(*tree.Node) error, confirm *Confirmation) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := ctx.Err(); err != nil {
		return err // the client left while others wrote
	}
	running, plan := s.Running()
	if id := s.PendingID(); id != "" {
		return fmt.Errorf("%w: %s", ErrPending, id)
	}
	candidate := running.Fork()
	if err := edit(candidate); err != nil {
		return err
	}
	candidate.Settle(running)
	next, nextPlan, err := s.judge(candidate, plan.IDs)
	if err != nil {
		return err
	}
	var p *pending
	if confirm != nil {
		p = &pending{ID: confirm.ID, Config: running, IDs: plan.IDs}
	}
	// Writing the parts takes as long as changing the kernel, and neither needs the other.
	stored := make(chan error, 1)
	var s0 snapshot
	go func() {
		var err error
		s0, err = s.journal.store(next, nextPlan.IDs)
		stored <- err
	}()
	err = s.converge(ctx, nextPlan, plan)
	failed := <-stored
	if err != nil {
		return err
	}
	if p != nil {
		// The time to confirm begins now: applying may have taken longer than all of it.
		p.Deadline = time.Now().Add(confirm.Duration)
	}
	if failed == nil {
		failed = s.journal.commit(s0, p)
	}
	if failed != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrApply, failed), s.undo(context.WithoutCancel(ctx), plan))
	}
	s.swap(next, nextPlan, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = false
	return nil
}

// judge validates a candidate and compiles it.
func (s *Store) judge(candidate *tree.Node, ids intent.IDs) (*tree.Node, intent.Plan, error) {
	if err := s.validator.Validate(candidate, s.cfg.Interfaces()); err != nil {
		return nil, intent.Plan{}, err
	}
	plan, err := s.compile(candidate, ids)
	if err == nil {
		err = s.refuseToLeaveOut(plan)
	}
	return candidate, plan, err
}

// refuseToLeaveOut refuses what a change would ask for in vain: an interface that is not there, and what the running
// configuration has of a port whose speed is unknown. What it lacks of such a port already is no reason to refuse a
// change of something else.
func (s *Store) refuseToLeaveOut(next intent.Plan) error {
	fits := s.fits() == nil // else the running configuration has no plan to compare with
	_, running := s.Running()
	for _, path := range slices.Sorted(maps.Keys(next.LeftOut)) {
		if err := next.LeftOut[path]; intent.Absent(err) || fits && running.LeftOut[path] == nil {
			return err
		}
	}
	return nil
}

// converge applies a plan; if that fails, it applies the previous one again.
func (s *Store) converge(ctx context.Context, next, before intent.Plan) error {
	// A client that hangs up does not stop a change halfway.
	ctx = context.WithoutCancel(ctx)
	err := s.engine.Change(ctx, next)
	if err == nil {
		s.setDrift(next.Lacks())
		return nil
	}
	err = fmt.Errorf("%w: %w", ErrApply, err)
	return errors.Join(err, s.undo(ctx, before))
}

// undo returns to the plan of the running configuration. Without one, what was changed stays until there is.
func (s *Store) undo(ctx context.Context, before intent.Plan) error {
	err := s.fits()
	if err == nil {
		err = s.engine.Converge(ctx, before)
	}
	s.setDrift(err)
	if err != nil {
		return fmt.Errorf("and the former state could not be restored yet: %w", err)
	}
	return nil
}

// swap makes a configuration the running one and wakes those that wait for Changed.
func (s *Store) swap(config *tree.Node, plan intent.Plan, p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.plan, s.misfit = config, plan, nil
	close(s.changed)
	s.changed = make(chan struct{})
	s.setPending(p)
}

// setDrift remembers what the router lacks, and logs it once, however often it is found.
func (s *Store) setDrift(err error) {
	s.mu.Lock()
	before := s.drift
	s.drift = err
	s.mu.Unlock()
	switch {
	case err == nil && before != nil:
		s.engine.Log.Info("router has its configuration again")
	case err != nil && (before == nil || before.Error() != err.Error()):
		s.engine.Log.Warn("router differs from its configuration; will try again", "error", err)
	}
}

// Drift is the difference between the router and its running configuration; nil if there is none.
func (s *Store) Drift() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drift
}

// Reconcile converges to the running configuration, after links or labels
// changed, or after another program changed our objects.
func (s *Store) Reconcile(ctx context.Context) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	config, before := s.Running()
	plan, err := s.recompile(config, before.IDs)
	if err == nil {
		s.setPlan(plan)
		err = s.engine.Converge(ctx, plan)
	}
	s.setDrift(err)
	return err
}

// Check compares the router with the running configuration without
// changing anything, and remembers the difference as drift.
func (s *Store) Check(ctx context.Context) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	err := s.Outdated()
	if err == nil {
		_, plan := s.Running()
		err = s.engine.Check(ctx, plan)
	}
	if err != nil {
		s.setDrift(err)
	}
	return err
}

// Outdated names a port that is not as it was when the running configuration was compiled, such as one that has
// negotiated another speed: the kernel may be as the plan says, and the plan be wrong.
func (s *Store) Outdated() error {
	_, plan := s.Running()
	return plan.Outdated(s.Hardware)
}

// HasTunnels reports whether the running configuration needs FRR.
func (s *Store) HasTunnels() bool {
	_, plan := s.Running()
	return len(plan.Tunnels) > 0
}
