package peagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// Control is the API for the control plane, over mutual TLS.
type Control struct {
	// Listen is host:port; empty: no control plane.
	Listen string `yaml:"listen"`
	// CA signed the control plane's certificate; Cert and Key are the agent's own. PEM files.
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CRL holds lists of the CA's revoked certificates; empty: none is revoked.
	CRL string `yaml:"crl"`
}

func (c Control) validate() error {
	if c.Listen != "" && (c.CA == "" || c.Cert == "" || c.Key == "") {
		return errors.New("control: name ca, cert and key; the agent accepts the control plane only over mutual TLS")
	}
	return nil
}

// serve opens the API and the metrics: for operators on this router, and for the control plane.
func (a *Agent) serve(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle(a.Handler())
	mux.Handle(vpnv1connect.NewVpnAgentServiceHandler(installer{a}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	if a.gather != nil && (a.cfg.Listen != "" || a.cfg.Control.Listen != "") {
		a.registerer.MustRegister(newCollector(a))
		mux.Handle("GET /metrics", promhttp.HandlerFor(a.gather, promhttp.HandlerOpts{}))
	}
	if a.cfg.Listen != "" {
		if err := a.open(ctx, a.cfg.Listen, mux, nil); err != nil {
			return err
		}
	}
	if a.cfg.Control.Listen == "" {
		return nil
	}
	files := mtls.Files{CA: a.cfg.Control.CA, Cert: a.cfg.Control.Cert, Key: a.cfg.Control.Key, CRL: a.cfg.Control.CRL}
	c, err := mtls.New(files, mtls.Dependencies{Use: "peagent", Log: a.log, Registerer: a.registerer})
	if err != nil {
		return fmt.Errorf("load the agent's certificate and the control plane's CA: %w", err)
	}
	a.credentials = c
	return a.open(ctx, a.cfg.Control.Listen, mux, c.Server(tls.RequireAndVerifyClientCert, "h2", "http/1.1"))
}

func (a *Agent) open(ctx context.Context, address string, h http.Handler, credentials *tls.Config) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("open the API: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	if credentials == nil {
		s.Protocols.SetUnencryptedHTTP2(true) // gRPC
	} else {
		s.Protocols.SetHTTP2(true)
		s.TLSConfig = credentials
		l = tls.NewListener(l, credentials)
	}
	a.servers = append(a.servers, s)
	a.running.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.metrics.errors.Inc()
			a.log.Error("an API is no longer served", "address", address, "error", err)
		}
	})
	return nil
}
