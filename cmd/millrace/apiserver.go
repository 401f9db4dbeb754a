package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
)

// apiServer serves the API of one service that runs in a process of its own.
type apiServer struct {
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
	// failed is called when the port is no longer served, though it was not stopped.
	failed func(error)
}

// newAPIServer guards the port against web sites, and each route by its right, as the dashboard's is.
func newAPIServer(p *process) *apiServer {
	counter := promauto.With(p.metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_cmd_refused_requests_total", Help: "Requests to the API of a service refused because of who seemed to send them.",
	}, []string{"reason"})
	refused := func(reason string) { counter.WithLabelValues(reason).Inc() }
	h := rpc.Patient{}.Wrap(rpc.Guard{Hosts: p.ownNames(), Setting: "endpoints", Refused: refused}.Wrap(p.port(refused)))
	server := rpc.Server(h)
	server.TLSConfig = p.serverTLS()
	server.ErrorLog = slog.NewLogLogger(p.log.Handler(), slog.LevelWarn) // of handshakes that were refused
	return &apiServer{listener: p.own(), log: p.log, failed: p.fail, server: server}
}

// ownNames are the hosts of this service's endpoints, where those are names: others address it so.
func (p *process) ownNames() (out []string) {
	for _, a := range p.cfg.Endpoints[p.name] {
		if own, err := url.Parse(a); err == nil && own.Host != "" {
			out = append(out, strings.ToLower(own.Hostname()))
		}
	}
	return out
}

// port routes what a process without the dashboard serves.
func (p *process) port(refused func(string)) http.Handler {
	if p.credentials != nil {
		p.gate.Who, p.gate.Closed = p.sender, true
	}
	gate := p.gate
	gate.Refused = refused
	mux := http.NewServeMux()
	for _, m := range append(p.mounts, p.pages()...) {
		mux.Handle(m.Path, gate.Wrap(m.Call, m.Handler))
	}
	mux.Handle("GET /metrics", gate.Page(rights.Viewer, promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}

// Start implements lifecycle.Component.
func (s *apiServer) Start(context.Context) error {
	s.log.Info("API serves", "url", scheme(s.server.TLSConfig)+s.listener.Addr().String()) // serve writes TLSConfig
	go func() {
		if err := s.serve(); !errors.Is(err, http.ErrServerClosed) {
			s.failed(fmt.Errorf("API stopped serving: %w", err))
		}
	}()
	return nil
}

func (s *apiServer) serve() error {
	if s.server.TLSConfig == nil {
		return s.server.Serve(s.listener)
	}
	return s.server.ServeTLS(s.listener, "", "")
}

// scheme is how URLs of a port begin.
func scheme(with *tls.Config) string {
	if with == nil {
		return "http://"
	}
	return "https://"
}

// Stop implements lifecycle.Component.
func (s *apiServer) Stop(ctx context.Context) error { return s.server.Shutdown(ctx) }
