package qos

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

// Meter reads the counters of a lab.
type Meter struct {
	lab     *lab.Lab
	routers map[string]*gnmiclient.Client
}

// NewMeter connects to every router with an agent.
func NewMeter(ctx context.Context, l *lab.Lab) (*Meter, error) {
	inventory, credentials, err := reached(l)
	if err != nil {
		return nil, err
	}
	up, cancel := context.WithTimeout(ctx, agentsUp)
	defer cancel()
	m := &Meter{lab: l, routers: map[string]*gnmiclient.Client{}}
	for _, node := range l.Scenario.Routers {
		if !node.Agent {
			continue
		}
		d, known := inventory.ByName(node.Name)
		if !known {
			return nil, errors.Join(fmt.Errorf("the lab's inventory has no %s", node.Name), m.Close())
		}
		for m.routers[node.Name] == nil {
			client, err := gnmiclient.DialBy(up, d, credentials, l.Dial)
			if err == nil {
				m.routers[node.Name] = client
			} else if err := sleep(up, poll, err); err != nil {
				return nil, errors.Join(err, m.Close())
			}
		}
	}
	return m, nil
}

// Close ends the connections.
func (m *Meter) Close() (err error) {
	for _, client := range m.routers {
		err = errors.Join(err, client.Close())
	}
	return err
}

// Count is what is counted while something runs: what a router counts itself, and of the rest what the kernel does.
func (m *Meter) Count(ctx context.Context, run func(context.Context) error) (scenario.Metrics, error) {
	before, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := run(ctx); err != nil {
		return nil, err
	}
	after, err := m.read(ctx)
	counted := difference(before.links, after.links)
	maps.Copy(counted, difference(before.agents, after.agents))
	return counted, err
}
