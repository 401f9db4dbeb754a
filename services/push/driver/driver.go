// Package driver is the seam between change sets and the ways routers are
// configured. One folder per way: openconfig is for targets that take the
// units as they are.
//
// In: configuration units and commit ids. Out: what the router holds, and
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
// refused and holds what it held before.
var (
	// ErrLost means that nobody knows whether the router did it: no answer came, or no connection. React: read back.
	ErrLost = errors.New("no answer")
	// ErrNotPending means that the router has no pending commit of this id. React: read back what it holds.
	ErrNotPending = errors.New("no such pending commit")
	// ErrNoCommitConfirm means that the router would keep what it is sent for good. React: do not send.
	ErrNoCommitConfirm = errors.New("the router does not honour commit-confirm")
)

// Opener connects to routers.
type Opener interface {
	Open(ctx context.Context, d device.Device) (Driver, error)
}

// Driver is one router.
type Driver interface {
	// Snapshot reads what of the configuration concerns Millrace.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Probe finds out, without changing anything, whether the router honours commit-confirm.
	Probe(ctx context.Context) error
	// Commit makes all changes or none. The router takes them back by itself unless Confirm comes in time.
	Commit(ctx context.Context, c Commit) error
	// Confirm makes a pending commit last; Cancel takes it back at once.
	Confirm(ctx context.Context, id string) error
	Cancel(ctx context.Context, id string) error
	// Verify asks the router's state, not its configuration, whether what is expected is there.
	Verify(ctx context.Context, e Expectation) ([]Check, error)
	Close() error
}

// Clasher is a Driver whose snapshots cannot tell what of an operator's own is
// in the way, because that depends on what is meant to be there.
type Clasher interface {
	// Clashes are bindings in the way of some units, as Snapshot.Foreign has them.
	Clashes(ctx context.Context, units map[string]string) (map[string]string, error)
}

// Snapshot is what a router holds.
type Snapshot struct {
	// Units are Millrace's, by path, canonical.
	Units map[string]string
	// Foreign are interface bindings of an operator's own: unit path to what is bound.
	Foreign map[string]string
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
	// Text is one line: what, and how it was found.
	Text string
}
