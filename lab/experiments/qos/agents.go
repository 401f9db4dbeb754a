package qos

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/lab"
)

const (
	// agentsUp bounds the wait for agents, which start last in a busy guest.
	agentsUp = time.Minute
	poll     = 250 * time.Millisecond
)

// connect opens the telemetry connection to every router with an agent, and starts the push service for them.
func (r *run) connect(ctx context.Context) error {
	inventory, credentials, err := reached(r.lab)
	if err != nil {
		return err
	}
	if r.meter, err = NewMeter(ctx, r.lab); err != nil {
		return err
	}
	r.plane, err = startPlane(ctx, r.lab, inventory, credentials)
	return err
}

// reached are the lab's routers, and the certificate with which they are reached.
func reached(l *lab.Lab) (*device.Inventory, *tls.Config, error) {
	inventory, err := device.Load(l.Inventory())
	if err != nil {
		return nil, nil, err
	}
	credentials, err := inventory.ClientTLS()
	return inventory, credentials, err
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
	if r.meter != nil {
		_ = r.meter.Close()
	}
	if r.plane == nil {
		return nil
	}
	return r.plane.stop(ctx)
}
