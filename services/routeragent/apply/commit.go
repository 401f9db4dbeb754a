package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// retryJournal is the pause between attempts to write the journal after a rollback.
const retryJournal = 5 * time.Second

// PendingID is the commit that waits for its confirmation, or empty.
func (s *Store) PendingID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		return ""
	}
	return s.pending.ID
}

// setPending stops the timer of the last commit and starts that of the next; the caller holds mu.
func (s *Store) setPending(p *pending) {
	if s.disarm != nil {
		s.disarm()
		s.disarm = nil
	}
	s.pending = p
	if p != nil && !s.stopped {
		s.disarm = s.cfg.After(time.Until(p.Deadline), func() { s.expire(p) })
	}
}

// expire rolls back a commit that was not confirmed in time. A timer that has run off cannot be stopped any more: while
// it waits for its turn, the commit may get another time, which is another wait.
func (s *Store) expire(p *pending) {
	s.writer.Lock()
	defer s.writer.Unlock()
	if !s.waits(p) {
		return
	}
	s.engine.Log.Warn("commit was not confirmed in time; rolling back", "commit", p.ID)
	s.rollback(context.Background())
}

// check reports whether a commit of that id is waiting.
func (s *Store) check(id string) error {
	have := s.PendingID()
	switch {
	case have == "":
		return ErrNoPending
	case have != id:
		return fmt.Errorf("%w: %s", ErrCommitID, have)
	}
	return nil
}

// Confirm makes a waiting commit permanent.
func (s *Store) Confirm(id string) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := s.check(id); err != nil {
		return err
	}
	config, plan := s.Running()
	if err := s.journal.save(record{Config: config, IDs: plan.IDs}); err != nil {
		return fmt.Errorf("%w: %w", ErrJournal, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setPending(nil)
	return nil
}

// Cancel rolls a waiting commit back now.
func (s *Store) Cancel(ctx context.Context, id string) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := s.check(id); err != nil {
		return err
	}
	s.rollback(context.WithoutCancel(ctx)) // a client that hangs up does not stop it halfway
	return nil
}

// Extend gives a waiting commit another duration, counted from now.
func (s *Store) Extend(id string, d time.Duration) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := s.check(id); err != nil {
		return err
	}
	config, plan := s.Running()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := *s.pending
	p.Deadline = time.Now().Add(d)
	if err := s.journal.save(record{Config: config, IDs: plan.IDs, Pending: &p}); err != nil {
		return fmt.Errorf("%w: %w", ErrJournal, err)
	}
	s.setPending(&p)
	return nil
}

// rollback returns to the configuration before the waiting commit; the caller holds writer. It is in force from
// then on, whatever the router cannot do of it now: without a port, an LSP or FRR, that is drift, which Reconcile
// repairs. The journal is written afterwards and may be late: until then it says that the commit waits, and a start
// from it rolls back, too.
func (s *Store) rollback(ctx context.Context) {
	s.mu.Lock()
	p := *s.pending
	s.mu.Unlock()
	s.restore(ctx, p.Config, p.IDs)
	s.keep()
}

// restore makes a configuration that was accepted earlier the running one, and brings the router to it.
func (s *Store) restore(ctx context.Context, config *tree.Node, ids intent.IDs) {
	plan, misfit := s.recompile(config, ids)
	err := misfit
	if misfit == nil {
		err = s.engine.Converge(ctx, plan)
	}
	s.setDrift(err)
	s.swap(config, plan, nil)
	s.setMisfit(misfit)
}

// keep writes the journal after the rollback, or tries again later; the caller holds writer.
func (s *Store) keep() {
	config, plan := s.Running()
	err := s.journal.save(record{Config: config, IDs: plan.IDs})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late = err != nil; !s.late {
		return
	}
	s.engine.Log.Error("journal not written; will try again", "error", err)
	if !s.stopped {
		s.cfg.After(retryJournal, s.keepLate)
	}
}

// keepLate is keep, unless the journal was written by a change meanwhile.
func (s *Store) keepLate() {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.mu.Lock()
	late := s.late && !s.stopped
	s.mu.Unlock()
	if late {
		s.keep()
	}
}

// waits reports whether this is the wait for a confirmation that is under way.
func (s *Store) waits(p *pending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == p && !s.stopped
}

// Stop stops the timer of a waiting commit; the next start rolls it back.
func (s *Store) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.setPending(s.pending)
}
