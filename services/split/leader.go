package split

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/state"
)

const (
	// keyLeader is held by the replica that requests change sets; all of them decide.
	keyLeader = "split/leader"
	// leaderLease is how long after the end of a replica another takes over.
	leaderLease = 15 * time.Second
)

// leader reports whether this replica requests change sets. Only one goroutine uses it at a time.
type leader struct {
	store *state.Store
	name  string
	lock  *state.Lock // nil unless held
}

// leads takes the lead where no replica has it. ctx bounds the lead, not the call.
func (l *leader) leads(ctx context.Context) (bool, error) {
	if l.lock != nil {
		select {
		case <-l.lock.Lost():
			l.resign()
		default:
			return true, nil
		}
	}
	lock, err := l.store.Lock(ctx, l.name, leaderLease, keyLeader)
	var held *state.HeldError
	if errors.As(err, &held) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.lock = lock
	return true, nil
}

func (l *leader) resign() {
	if l.lock != nil {
		l.lock.Release()
		l.lock = nil
	}
}
