package controlplane

import (
	"context"
	"errors"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/lab"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// announceTemplates has exporters send their NetFlow templates to the collector
// that has just started. By themselves they repeat them after some packets or
// minutes, and until then what they send cannot be read (RFC 3954, section 9).
func announceTemplates(ctx context.Context, l *lab.Lab) error {
	for _, router := range l.Scenario.Routers {
		socket, ok := lab.ExporterControl(l.Scenario, router)
		if !ok {
			continue
		}
		if _, err := l.Capture(ctx, router.Name, "softflowctl", "-c", socket, "send-template"); err != nil {
			return err
		}
	}
	return nil
}

// AwaitNetwork waits until the control plane knows all routers, has their telemetry, and can read their flows.
func (p *Plane) AwaitNetwork(ctx context.Context, l *lab.Lab) error {
	if err := announceTemplates(ctx, l); err != nil {
		return err
	}
	routers := len(l.Scenario.Routers)
	return p.Until(ctx, time.Minute, "all routers are in the topology and stream telemetry", func(ctx context.Context) (bool, error) {
		t, err := p.Paths.Topology(ctx, connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err != nil || len(t.Msg.GetSnapshot().GetNodes()) < routers {
			// The agents may have started after the collector looked; do not wait for its next look.
			_, refreshed := p.Topology.Refresh(ctx, connect.NewRequest(&topologyv1.RefreshRequest{}))
			return false, errors.Join(UnlessUnavailable(err), UnlessUnavailable(refreshed))
		}
		d, err := p.Telemetry.Devices(ctx, connect.NewRequest(&telemetryv1.DevicesRequest{}))
		if err != nil {
			return false, err
		}
		down := slices.ContainsFunc(d.Msg.GetDevices(), func(d *telemetryv1.Device) bool { return !d.GetConnected() })
		return !down && len(d.Msg.GetDevices()) == routers, nil
	})
}
