package routeragent

import (
	"sync"
	"time"
)

// Limits of guessing passwords.
const (
	maxGuesses   = 10 // from one address in guessPause
	guessPause   = time.Minute
	maxAddresses = 1024 // that are remembered
)

// guesses counts wrong passwords by address.
type guesses struct {
	now func() time.Time

	mu sync.Mutex
	by map[string]*guess
}

type guess struct {
	since time.Time // the first wrong one
	wrong int
}

// may is false for an address that has guessed too often, and for new ones while too many others guess.
func (g *guesses) may(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a, x := range g.by {
		if g.now().Sub(x.since) >= guessPause {
			delete(g.by, a)
		}
	}
	if x := g.by[address]; x != nil {
		return x.wrong < maxGuesses
	}
	return len(g.by) < maxAddresses
}

func (g *guesses) wrong(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by == nil {
		g.by = map[string]*guess{}
	}
	if g.by[address] == nil {
		g.by[address] = &guess{since: g.now()}
	}
	g.by[address].wrong++
}
