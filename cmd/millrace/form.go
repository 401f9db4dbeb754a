package main

import (
	"context"
	"sync"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/version"
)

// join records in which form this process writes to etcd, and ends it when another one begins to write a form that it
// does not read.
func (p *process) join(ctx context.Context, store *state.Store) error {
	if err := store.Join(ctx, state.Own, version.Get().Version); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := store.Outdated(watching, state.Own, version.Get().Version); err != nil {
			p.fail(err)
		}
	})
	p.closers = append(p.closers, func(context.Context) error { cancel(); running.Wait(); return nil })
	return nil
}
