package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/services/circuits/rest"
	"github.com/millrace/millrace/services/dashboard"
)

// gateway lists every API the dashboard's port answers.
func (p *process) gateway() ([]dashboard.Mount, error) {
	out := slices.Clone(p.mounts)
	for _, s := range services() {
		if s.api == "" || p.hosted[s.name] || p.cfg.Endpoints[s.name] == "" {
			continue
		}
		target, err := url.Parse(p.cfg.Endpoints[s.name])
		if err != nil {
			return nil, fmt.Errorf("endpoints.%s: %w", s.name, err)
		}
		out = append(out, dashboard.Mount{Path: "/" + s.api + "/", Handler: p.proxy(s.name, target, connectAway)})
		if s.rest != "" {
			out = append(out, dashboard.Mount{Path: s.rest, Handler: p.proxy(s.name, target, restAway)})
		}
	}
	return out, nil
}

// proxy forwards requests to a service in another process, over HTTP/2, which gRPC clients of the gateway
// need. away answers where the service does not.
func (p *process) proxy(name string, target *url.URL, away func(http.ResponseWriter, *http.Request, error)) http.Handler {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{Protocols: protocols},
		FlushInterval: -1, // streams: message by message
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client left
			}
			p.log.Warn("request not proxied", "service", name, "path", r.URL.Path, "error", err)
			away(w, r, fmt.Errorf("%s does not answer at %s; see whether it runs: %w", name, target, err))
		},
	}
}

// connectAway answers a call of Connect or gRPC.
func connectAway(w http.ResponseWriter, r *http.Request, err error) {
	broken := connect.NewErrorWriter()
	if !broken.IsSupported(r) {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = broken.Write(w, r, connect.NewError(connect.CodeUnavailable, err)) // the client may have disconnected
}

// restAway answers a request of JSON over plain HTTP.
func restAway(w http.ResponseWriter, _ *http.Request, err error) { rest.Unavailable(w, err) }

// apiServer serves the API of one service that runs in a process of its own.
type apiServer struct {
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
	// failed is called when the port is no longer served, though it was not stopped.
	failed func(error)
}

// newAPIServer guards the port against web sites, as the dashboard's is.
func newAPIServer(l net.Listener, h http.Handler, log *slog.Logger, r prometheus.Registerer, failed func(error)) *apiServer {
	refused := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_cmd_refused_requests_total", Help: "Requests to the API of a service refused because of who seemed to send them.",
	}, []string{"reason"})
	h = rpc.Guard{Refused: func(reason string) { refused.WithLabelValues(reason).Inc() }}.Wrap(h)
	return &apiServer{listener: l, log: log, failed: failed, server: &http.Server{Handler: h, Protocols: rpc.Protocols(), ReadHeaderTimeout: 10 * time.Second}}
}

// Start implements lifecycle.Component.
func (s *apiServer) Start(context.Context) error {
	go func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed(fmt.Errorf("API stopped serving: %w", err))
		}
	}()
	s.log.Info("API serves", "url", "http://"+s.listener.Addr().String())
	return nil
}

// Stop implements lifecycle.Component.
func (s *apiServer) Stop(ctx context.Context) error { return s.server.Shutdown(ctx) }
