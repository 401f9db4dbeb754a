package main

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/trace"
	"github.com/millrace/millrace/services/circuits/rest"
	"github.com/millrace/millrace/services/dashboard"
)

// gateway lists every API the dashboard's port answers.
func (p *process) gateway() ([]dashboard.Mount, error) {
	out := slices.Clone(p.mounts)
	for _, s := range services() {
		if s.api == "" || p.hosted[s.name] || !p.reaches(s.name) {
			continue
		}
		target, err := url.Parse(p.cfg.Endpoints[s.name].first())
		if err != nil {
			return nil, fmt.Errorf("endpoints.%s: %w", s.name, err)
		}
		out = append(out, dashboard.Mount{Path: "/" + s.api + "/", Handler: trace.Handler(p.proxy(s.name, target, connectAway), changes)})
		if s.rest != "" {
			out = append(out, dashboard.Mount{Path: s.rest, Handler: trace.Handler(p.proxy(s.name, target, restAway), changes), Call: s.restCall})
		}
	}
	return out, nil
}

// proxy forwards requests to a service in another process, over HTTP/2, which gRPC clients of the gateway
// need. away answers where the service does not.
func (p *process) proxy(name string, target *url.URL, away func(http.ResponseWriter, *http.Request, error)) http.Handler {
	at := p.cfg.Endpoints[name]
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			rpc.Forward(r.In, r.Out.Header)
		},
		Transport:     p.elsewhere(name).Transport,
		FlushInterval: -1, // streams: message by message
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client left
			}
			p.log.Warn("request not proxied", "service", name, "path", r.URL.Path, "error", err)
			away(w, r, fmt.Errorf("%s does not answer at %s; see whether it runs: %w", name, at, err))
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
