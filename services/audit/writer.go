package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

const (
	// patience is how long a call waits for its record.
	patience = 5 * time.Second
	// attempt bounds one transaction, again is the pause after one that failed.
	attempt = 3 * time.Second
	again   = 200 * time.Millisecond
	// maxWaiting records are some megabytes.
	maxWaiting = 10_000
	// maxBatch is how many records one transaction writes; etcd takes 128 operations.
	maxBatch = 60
)

var errFull = errors.New("too many audit records wait to be written")

// writer puts records behind the head, several in one transaction. What waits is kept until it is written.
type writer struct {
	tail    *tail
	log     *slog.Logger
	metrics *metrics
	// patience of a call; tests have less.
	patience time.Duration

	mu      sync.Mutex
	waiting []*waiting
	wake    chan struct{}
	// failing is what was logged last, so that it is logged once.
	failing bool
	// refused is why the last attempt failed; nil where it did not.
	refused error
}

type waiting struct {
	record *auditv1.Record
	// done is closed once it is written; nil where nobody waits.
	done chan struct{}
}

func newWriter(s *state.Store, keep int, log *slog.Logger, m *metrics, now func() time.Time) *writer {
	return &writer{tail: &tail{state: s, keep: uint64(keep), now: now}, log: log, metrics: m, patience: patience, wake: make(chan struct{}, 1)}
}

// put returns once the record is written. With an error it may be written yet, except with errFull.
func (w *writer) put(ctx context.Context, r *auditv1.Record) error {
	done := make(chan struct{})
	if !w.add(&waiting{r, done}) {
		return errFull
	}
	timer := time.NewTimer(w.patience)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return w.because()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// because is why nothing is written: what etcd said last, unless it says nothing.
func (w *writer) because() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused == nil || errors.Is(w.refused, context.DeadlineExceeded) {
		return errors.New("etcd does not answer")
	}
	return w.refused
}

// later writes the record when it can. A record of what was done is always taken; false is for refusals where too many
// wait.
func (w *writer) later(r *auditv1.Record) bool { return w.add(&waiting{record: r}) }

func (w *writer) add(one *waiting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) >= maxWaiting && (one.done != nil || one.record.GetKind() != auditv1.Kind_KIND_ENDED || one.record.GetUser() == "") {
		return false
	}
	w.waiting = append(w.waiting, one)
	w.metrics.waiting.Set(float64(len(w.waiting)))
	select {
	case w.wake <- struct{}{}:
	default: // it is awake
	}
	return true
}

// run writes until its context ends.
func (w *writer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		_ = w.drain(ctx) // which ends with the context only
	}
}

// drain writes what waits, until nothing waits any more or the context ends. Stop drains beside run.
func (w *writer) drain(ctx context.Context) error {
	for len(w.batch()) > 0 {
		if err := w.write(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			lifecycle.Pause(ctx, again)
		}
	}
	return nil
}

// batch is what the next transaction writes.
func (w *writer) batch() []*waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting[:min(len(w.waiting), maxBatch)]
}

// write makes one attempt. It holds the tail from when it takes the batch until it has taken it off what waits, so that
// no other writes the same records again.
func (w *writer) write(ctx context.Context) error {
	w.tail.mu.Lock()
	defer w.tail.mu.Unlock()
	batch := w.batch()
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	records := make([]*auditv1.Record, len(batch))
	for i, b := range batch {
		records[i] = b.record
	}
	n, err := w.tail.append(ctx, records)
	w.written(n)
	if err == nil {
		err = w.tail.trim(ctx)
	}
	w.note(err)
	if failing := err != nil && !errors.Is(err, state.ErrConflict); failing != w.failing {
		w.failing = failing
		if failing {
			w.log.Warn("audit records wait, because etcd takes none; calls that change something are refused meanwhile", "error", err)
		} else {
			w.log.Info("audit records are written again")
		}
	}
	return err
}

func (w *writer) note(refused error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = refused
}

// written takes the first n off what waits.
func (w *writer) written(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.waiting[:n] {
		if b.done != nil {
			close(b.done)
		}
	}
	w.waiting = w.waiting[n:]
	w.metrics.written.Add(float64(n))
	w.metrics.waiting.Set(float64(len(w.waiting)))
}

// logHead logs the newest mark.
func (w *writer) logHead() {
	w.tail.mu.Lock()
	defer w.tail.mu.Unlock()
	if h := w.tail.head; h.GetSeq() > 0 {
		w.log.Info("head of the audit log; `millrace audit verify --noted SEQ:HASH` compares", "seq", h.GetSeq(), "hash", h.GetHash())
	}
}
