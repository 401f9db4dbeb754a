package qos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
)

const (
	// agentsUp bounds the wait for agents, which start last in a busy guest.
	agentsUp = time.Minute
	poll     = 250 * time.Millisecond
)

// connect opens the telemetry connection to every router with an agent, and starts the push service for them.
func (r *run) connect(ctx context.Context) error {
	inventory, err := device.Load(r.lab.Inventory())
	if err != nil {
		return err
	}
	credentials, err := inventory.ClientTLS()
	if err != nil {
		return err
	}
	up, cancel := context.WithTimeout(ctx, agentsUp)
	defer cancel()
	r.routers = map[string]*gnmiclient.Client{}
	for _, node := range r.scenario.Routers {
		if !node.Agent {
			continue
		}
		d, known := inventory.ByName(node.Name)
		if !known {
			return fmt.Errorf("the lab's inventory has no %s", node.Name)
		}
		for r.routers[node.Name] == nil {
			client, err := gnmiclient.DialBy(up, d, credentials, r.lab.Dial)
			if err == nil {
				r.routers[node.Name] = client
			} else if err := sleep(up, poll, err); err != nil {
				return err
			}
		}
	}
	r.plane, err = startPlane(ctx, r.lab, inventory, credentials)
	return err
}

// sleep waits, or gives the last error when the context is over.
func sleep(ctx context.Context, d time.Duration, last error) error {
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err(), last)
	case <-time.After(d):
		return nil
	}
}

func (r *run) disconnect(ctx context.Context) error {
	for _, client := range r.routers {
		_ = client.Close()
	}
	if r.plane == nil {
		return nil
	}
	return r.plane.stop(ctx)
}
