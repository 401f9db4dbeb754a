package vpn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/state"
)

const (
	// keyLeader is held by the replica that follows the policy file. Replicas whose files differ, for
	// example while the file is being replaced on one of them, would otherwise replace each other's weights
	// once a second.
	keyLeader = "vpn/leader"
	// leaderLease is how long after the end of a replica another takes over.
	leaderLease = 15 * time.Second
)

// leader reports whether this replica follows the policy file.
type leader struct {
	store *state.Store
	name  string

	mu   sync.Mutex
	lock *state.Lock // nil unless held
}

// leads takes the lead where no replica has it. ctx bounds the lead, not the call.
func (l *leader) leads(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock != nil {
		select {
		case <-l.lock.Lost():
			l.lock.Release()
			l.lock = nil
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

// resign lets another replica take the lead at once.
func (l *leader) resign() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock != nil {
		l.lock.Release()
		l.lock = nil
	}
}
