// Package dashboard is the API gateway: one port that serves the operator's web
// page, every service's API, the stream of events and the metrics.
//
// In: Connect handlers of the other services, events from the bus, a browser or
// the CLI. Out: the page (web/, embedded), the same APIs guarded against other
// web sites, EventService.Watch. Next: the operator, who approves a change set
// and so hands it to services/push.
package dashboard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
)

// Mount is one service's handler and the path it is served under.
type Mount struct {
	Path    string
	Handler http.Handler
	// Call names what a request asks of it; nil for Connect handlers, whose paths do.
	Call func(*http.Request) rights.Call
}

// Dependencies of the dashboard.
type Dependencies struct {
	// Handlers are the APIs of all services that run behind this gateway.
	Handlers []Mount
	// Gate stands before all of them.
	Gate rpc.Gate
	Bus  bus.Bus
	// Listener is a socket the parent process opened for us; nil listens on Configuration.Listen.
	Listener net.Listener
	// TLS is what the port needs for TLS; nil: it has none.
	TLS        *tls.Config
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Papers are the results of `millrace papers` that this binary was built with; nil: none.
	Papers fs.FS
	// Gatherer is what /metrics shows; nil leaves /metrics out.
	Gatherer prometheus.Gatherer
	// Failed is called when the port is no longer served, though it was not stopped; nil for none.
	Failed func(error)
}

// Component serves the dashboard.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	feed    *feed
	server  *http.Server
	addr    net.Addr
	// loops end the bus subscription and every open event stream, so that Stop
	// need not wait for browsers to go away; other requests may finish.
	loops lifecycle.Loops
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := newMetrics(deps.Registerer)
	return &Component{cfg: cfg, deps: deps, metrics: m, feed: newFeed(cfg.RecentEvents, m)}, nil
}

// Start subscribes to events and serves; it returns once the port accepts connections.
func (c *Component) Start(ctx context.Context) error {
	ln, err := c.listen(ctx)
	if err != nil {
		return err
	}
	c.loops.Start(ctx)
	if err := c.subscribe(c.loops.Context()); err != nil {
		return errors.Join(err, ln.Close())
	}
	c.addr = ln.Addr()
	c.server = rpc.Server(c.gateway())
	c.server.TLSConfig, c.server.IdleTimeout = c.deps.TLS, 2*time.Minute
	c.server.ErrorLog = slog.NewLogLogger(c.deps.Log.Handler(), slog.LevelWarn)
	c.loops.Go(func(context.Context) { c.serve(ln) })
	c.deps.Log.InfoContext(ctx, "dashboard serves", "url", c.URL())
	return nil
}

func (c *Component) serve(ln net.Listener) {
	serve := c.server.Serve
	if c.deps.TLS != nil {
		serve = func(l net.Listener) error { return c.server.ServeTLS(l, "", "") }
	}
	if err := serve(ln); !errors.Is(err, http.ErrServerClosed) {
		c.deps.Log.Error("dashboard stopped serving", "error", err)
		if c.deps.Failed != nil {
			c.deps.Failed(fmt.Errorf("dashboard stopped serving: %w", err))
		}
	}
}

// Stop ends streams, waits for the requests under way and closes the port.
func (c *Component) Stop(ctx context.Context) error {
	c.loops.Cancel()
	if c.server == nil {
		return nil
	}
	err := c.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("wait for requests under way: %w", err), c.server.Close())
	}
	return errors.Join(err, c.loops.Stop(context.WithoutCancel(ctx))) // the port is closed, so it is a moment
}

// URL is where the dashboard listens.
func (c *Component) URL() string {
	if c.deps.TLS != nil {
		return "https://" + c.addr.String()
	}
	return "http://" + c.addr.String()
}

// Addr is where the dashboard listens; nil before Start.
func (c *Component) Addr() net.Addr { return c.addr }

// docs is where the page is that shows and tries the calls of the REST API.
const docs = "/v1/docs/"

// gateway routes APIs, metrics and page, all behind the guard, and each behind the gate. The page itself says nothing
// of the network: what it shows it asks of the APIs.
func (c *Component) gateway() http.Handler {
	refused := func(reason string) { c.metrics.refused.WithLabelValues(reason).Inc() }
	gate := c.deps.Gate
	gate.Refused = refused
	mux := http.NewServeMux()
	path, handler := c.Handler()
	for _, m := range append([]Mount{{Path: path, Handler: handler}}, c.deps.Handlers...) {
		mux.Handle(m.Path, gate.Wrap(m.Call, m.Handler))
	}
	if c.deps.Gatherer != nil {
		mux.Handle("GET /metrics", gate.Page(rights.Viewer, promhttp.HandlerFor(c.deps.Gatherer, promhttp.HandlerOpts{})))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	shown := results{configured: c.cfg.Papers, built: c.deps.Papers}
	mux.Handle("GET /papers.json", gate.Page(rights.Viewer, http.HandlerFunc(shown.serveAll)))
	mux.Handle("GET /papers/{file}", gate.Page(rights.Viewer, http.HandlerFunc(shown.servePlot)))
	mux.Handle("/", newAssets(dist()))
	mux.Handle("GET "+docs, newAssets(dist())) // beside a REST API, which has the rest of /v1/
	guard := rpc.Guard{Hosts: c.cfg.Hosts, Setting: "dashboard.hosts", Refused: refused}
	return page(rpc.Patient{}.Wrap(guard.Wrap(mux)))
}

// contentSecurityPolicy lets the page load nothing but its own files and talk to
// nobody but its own server; no inline script or style can run.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page tells browsers what the page may do.
func page(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
