package routeragent

import (
	"context"
	"errors"
	"net"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/millrace/millrace/internal/bounds"
	"github.com/millrace/millrace/internal/trace"
	service "github.com/millrace/millrace/services/routeragent/gnmi"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/state"
)

// readAccess reads who may do what.
func (a *Agent) readAccess() (err error) {
	unusable := func(file string) func(bool) {
		return func(is bool) {
			n := 0.0
			if is {
				n = 1
			}
			a.metrics.unusable.WithLabelValues(file).Set(n)
		}
	}
	if a.users, err = newLogins(a.cfg.Users, a.deps.Log, unusable("users")); err != nil {
		return err
	}
	a.roles, err = a.cfg.watchRoles(a.deps.Log, unusable("roles"))
	return err
}

func (a *Agent) serve(listener net.Listener, creds grpc.ServerOption) error {
	reader := state.New(state.Dependencies{Kernel: a.kernel, FRR: a.frr(), Hardware: a.store.Hardware, Log: a.deps.Log,
		Plan: func() intent.Plan { _, p := a.store.Running(); return p }, Agent: a.self})
	a.conns = bounds.Listen(listener, portLimits, func(why bounds.Reason) { a.metrics.closed.WithLabelValues(string(why)).Inc() })
	a.clients = bounds.NewClients(a.limits())
	a.server = grpc.NewServer(creds, grpc.InTapHandle(a.admit), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveEvery, Timeout: keepaliveAnswer}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastKeepaliveTime, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(trace.ServeUnary, a.observe, a.audit, a.pace), grpc.ChainStreamInterceptor(a.observeStream))
	gnmi.RegisterGNMIServer(a.server, service.New(service.Dependencies{Store: a.store, State: reader, Wake: a.wake, Room: a.room}))
	a.health = health.NewServer()
	a.tellHealth()
	healthpb.RegisterHealthServer(a.server, a.health)
	reflection.Register(a.server)
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	events, err := a.kernel.Watch(ctx.Done())
	if err != nil {
		stop()
		return errors.Join(err, listener.Close())
	}
	if err := a.startScrape(); err != nil {
		stop()
		return errors.Join(err, listener.Close())
	}
	a.wg.Go(func() { a.watch(ctx, events) })
	a.wg.Go(func() { a.credentials.Run(ctx) })
	a.wg.Go(func() { a.reviewStreams(ctx) })
	a.wg.Go(func() {
		if err := a.server.Serve(a.credentials.Listen(a.conns)); err != nil {
			a.deps.Log.Error("gNMI server ended", "error", err)
		}
	})
	a.deps.Log.Info("router agent serves gNMI", "name", a.cfg.Name, "address", listener.Addr().String())
	return nil
}
