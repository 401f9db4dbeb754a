package qos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/lab"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/openconfig"
)

// plane is the product's push service over an embedded etcd, so that the lab
// has no commit sequence of its own. The plan at hand answers for services/policy.
type plane struct {
	policyv1connect.UnimplementedPolicyServiceHandler

	changes pushv1connect.ChangeServiceClient
	// intended is what the next change set is planned with.
	intended *policyv1.PlanResponse
	stops    []func(context.Context) error
}

// Plan implements PolicyServiceClient.
func (p *plane) Plan(context.Context, *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	return connect.NewResponse(p.intended), nil
}

// rollbackAfter is how long routers wait for the confirmation: a guest
// that shares its processor with the traffic is slow.
const rollbackAfter = 2 * time.Minute

func startPlane(ctx context.Context, l *lab.Lab, inventory *device.Inventory, credentials *tls.Config) (*plane, error) {
	p := &plane{}
	if err := p.start(ctx, l, inventory, credentials); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

func (p *plane) start(ctx context.Context, l *lab.Lab, inventory *device.Inventory, credentials *tls.Config) error {
	log, err := os.Create(filepath.Join(l.Output, "logs", "push.log"))
	if err != nil {
		return fmt.Errorf("open the push service's log: %w", err)
	}
	p.stops = append(p.stops, func(context.Context) error { return log.Close() })
	// An output folder may be used again; change sets of an earlier lab are not for these routers.
	folder := filepath.Join(l.Output, "etcd")
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("clear the records of an earlier run: %w", err)
	}
	etcd := state.NewEmbedded(folder)
	if err := etcd.Start(ctx); err != nil {
		return err
	}
	p.stops = append(p.stops, etcd.Stop)
	cfg := push.DefaultConfiguration()
	cfg.RollbackAfter = rollbackAfter
	component, err := push.New(cfg, push.Dependencies{
		Inventory: inventory, State: etcd.Store(), Policy: p, Bus: bus.NewMemory(),
		Vendors: driver.Vendors{device.OSMillrace: {Encoding: configentry.JSONIETF, Opener: openconfig.Opener{Credentials: credentials, Dialer: l.Dial}}},
		Log:     slog.New(slog.NewTextHandler(log, nil)), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	if err := component.Start(ctx); err != nil {
		return err
	}
	p.stops = append(p.stops, component.Stop)
	mux := http.NewServeMux()
	mux.Handle(component.Handler())
	local := rpc.NewLocal(mux)
	p.stops = append(p.stops, func(context.Context) error { return local.Close() })
	p.changes = pushv1connect.NewChangeServiceClient(local.Client(), rpc.LocalURL)
	return nil
}

func (p *plane) stop(ctx context.Context) error {
	var failed error
	for i := len(p.stops) - 1; i >= 0; i-- {
		failed = errors.Join(failed, p.stops[i](context.WithoutCancel(ctx)))
	}
	return failed
}
