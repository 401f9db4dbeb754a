package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/version"
	"github.com/millrace/millrace/services/flowstore"
)

var errOther = errors.New("this etcd is another installation's")

// keyInstallation has what the processes of an etcd are configured as.
const keyInstallation = "installation"

// installation is what all processes on one etcd have in common, by setting. One that a process does not use is absent.
func (p *process) installation() map[string]string {
	is := map[string]string{"installation": p.cfg.Installation}
	if len(p.cfg.Kafka.Brokers) > 0 {
		is["kafka.prefix"] = p.cfg.Kafka.Prefix
	}
	if tables := p.cfg.settings("flowstore").(flowstore.Configuration).Store; p.hosted["flowstore"] && len(tables.Servers) > 0 {
		is["flowstore.store.database"] = tables.Database
	}
	return is
}

// joined is what is recorded once a process has added what it is configured as, or why it is of another installation.
func joined(recorded, mine map[string]string) (map[string]string, error) {
	all := maps.Clone(recorded)
	for _, setting := range slices.Sorted(maps.Keys(mine)) {
		was, known := recorded[setting]
		if known && was != mine[setting] {
			return nil, fmt.Errorf("%w: %s is %q there, and %q here. Two control planes on one etcd take each other's change sets for their own: "+
				"set etcd.endpoints to an etcd of this one's, or correct %s. If it was changed on purpose, stop all processes of the installation, delete the key /millrace/%s in etcd, and start them",
				errOther, setting, was, mine[setting], setting, keyInstallation)
		}
		all[setting] = mine[setting]
	}
	return all, nil
}

// claimOnce joins and claims as soon as etcd answers, and ends the process where the others there are of another
// installation, as it would share their work, or write what it does not read.
func (p *process) claimOnce(store *state.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			err := store.Join(ctx, state.Own, version.Get().Version)
			if err == nil {
				err = claim(ctx, store, p.installation())
			}
			if err == nil {
				err = store.Outdated(ctx, state.Own, version.Get().Version)
			}
			if errors.Is(err, errOther) || errors.Is(err, state.ErrTooOld) {
				p.fail(err)
				return
			}
			lifecycle.Pause(ctx, wholePause)
		}
	})
	p.closers = append(p.closers, func(context.Context) error { cancel(); running.Wait(); return nil })
}

// claim records what this process is configured as. It is refused where the others on this etcd are of another
// installation.
func claim(ctx context.Context, store *state.Store, mine map[string]string) error {
	for {
		record := &structpb.Struct{}
		revision, err := store.Get(ctx, keyInstallation, record)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return err
		}
		recorded := map[string]string{}
		for setting, value := range record.GetFields() {
			recorded[setting] = value.GetStringValue()
		}
		all, err := joined(recorded, mine)
		if err != nil || maps.Equal(all, recorded) {
			return err
		}
		record.Fields = map[string]*structpb.Value{}
		for setting, value := range all {
			record.Fields[setting] = structpb.NewStringValue(value)
		}
		if _, err := store.Put(ctx, keyInstallation, revision, record); !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
}
