// Package driver is the interface between change sets and routers. One folder
// per vendor: openconfig is for targets that take OpenConfig as it is.
//
// In: managed config entries and commit ids. Out: the running config, and
// errors that say which reaction they need. Next: the router.
package driver

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/services/push/diff"
)

// The errors a caller branches on; every other error means that the router
// refused and its config is unchanged.
var (
	// ErrLost means that it is unknown whether the router did it: no answer came, or no connection. React: read back.
	ErrLost = errors.New("no answer")
	// ErrNotPending means that the router reports no pending commit of this id, which some report for any
	// error. React: read which commit is pending, then read back.
	ErrNotPending = errors.New("no such pending commit")
	// ErrPendingUnknown means that the router answered, and does not say whether a commit is pending. Such an error is
	// ErrLost, too. React: as to that where something was sent.
	ErrPendingUnknown = errors.New("the router does not say whether a commit is pending")
	// ErrNoCommitConfirm means that the router would never roll back by itself. React: do not send.
	ErrNoCommitConfirm = errors.New("the router does not honour commit-confirm")
)

// Opener connects to routers.
type Opener interface {
	Open(ctx context.Context, d device.Device) (Driver, error)
}

// Master is sent with every Set to a router that knows master arbitration: of each role
// it obeys the highest election id that it has seen (gNMI master arbitration, section
// 3.2). So it refuses what an earlier master sent, and what the same one sent earlier
// and arrives late.
type Master struct {
	Role string
	// Term numbers the masters, Turn the requests of one to this router: the high and the low half of the election id.
	Term, Turn uint64
}

// Driver is one router.
type Driver interface {
	// Snapshot reads the managed part of the running config.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Conflicts lists unmanaged config that is in the way of writing these entries, in the order of paths. An entry
	// that is empty is to be deleted.
	Conflicts(ctx context.Context, running Snapshot, entries map[string]string) ([]Conflict, error)
	// Probe finds out, without changing anything, whether the router honours commit-confirm.
	Probe(ctx context.Context) error
	// Commit makes all changes or none. The router rolls them back by itself unless Confirm comes in time.
	Commit(ctx context.Context, as Master, c Commit) error
	// Confirm makes a pending commit permanent; Cancel rolls it back at once.
	Confirm(ctx context.Context, as Master, id string) error
	Cancel(ctx context.Context, as Master, id string) error
	// Pending reports whether any commit waits for its confirmation; ErrLost if the router does not answer that.
	Pending(ctx context.Context, as Master) (bool, error)
	// Verify checks the router's state, not its configuration, for
	// everything that must follow from the intended entries.
	Verify(ctx context.Context, intended map[string]string) ([]Check, error)
	Close() error
}

// Snapshot is a router's running config as far as it concerns Millrace.
type Snapshot struct {
	// Entries are the managed ones, by path, canonical.
	Entries map[string]string
	// Unmanaged are interfaces to which an operator has bound something else: entry path to the name of what is bound.
	Unmanaged map[string]string
}

// Conflict is an entry that would collide with config that is not Millrace's.
type Conflict struct {
	Path string
	// With names the unmanaged config.
	With string
	// Stays: the router keeps the unmanaged config beside the entry, and prefers it. Else a write takes it away.
	Stays bool
}

// Commit is one transaction.
type Commit struct {
	// ID makes a repeated commit recognizable.
	ID string
	// Rollback is how long the router waits for Confirm.
	Rollback time.Duration
	Changes  []diff.Change
}

// Check is one thing looked at.
type Check struct {
	OK bool
	// Text is one line: the check, and its result.
	Text string
}
