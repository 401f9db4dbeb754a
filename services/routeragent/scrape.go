package routeragent

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/internal/rpc"
)

// scrape serves /metrics for Prometheus, profiles to this host, and /healthz and /ready: 200 while the router holds its
// configuration, 503 with the reason while it does not. It shows numbers and no configuration, over plain HTTP, where
// metrics says.
type scrape struct {
	server  *http.Server
	address string
}

// startScrape listens; without an address it serves nothing.
func (a *Agent) startScrape() error {
	if a.cfg.Metrics == "" || a.deps.Gatherer == nil {
		return nil
	}
	l, err := net.Listen("tcp", a.cfg.Metrics)
	if err != nil {
		return fmt.Errorf("listen for metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.deps.Gatherer, promhttp.HandlerOpts{}))
	mux.Handle("GET /ready", monitor.Dependencies(a.dependencies))
	mux.Handle("GET "+monitor.ProfilesPath, monitor.Loopback(monitor.Profiles()))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.store.Drift(); err != nil {
			http.Error(w, "the router differs from its configuration: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	a.scrape.server = &http.Server{Handler: mux, ReadHeaderTimeout: rpc.HeaderPatience, ReadTimeout: rpc.HeaderPatience, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	a.scrape.address = l.Addr().String()
	a.wg.Go(func() {
		if err := a.scrape.server.Serve(l); err != nil && err != http.ErrServerClosed {
			a.deps.Log.Error("metrics server ended", "error", err)
		}
	})
	return nil
}

// dependencies are what the agent needs to configure the router: its own configuration in the kernel and FRR.
func (a *Agent) dependencies() []monitor.Dependency {
	return []monitor.Dependency{{Name: "router", Ask: func(context.Context) error { return a.store.Drift() }}}
}

func (s *scrape) stop(ctx context.Context) {
	if s.server != nil {
		_ = s.server.Shutdown(ctx)
		_ = s.server.Close()
	}
}
