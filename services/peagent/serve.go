package peagent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

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
}

func (c Control) validate() error {
	if c.Listen != "" && (c.CA == "" || c.Cert == "" || c.Key == "") {
		return errors.New("control: name ca, cert and key; the agent accepts the control plane only over mutual TLS")
	}
	return nil
}

// credentials require a client certificate of the configured CA.
func (c Control) credentials() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("load the agent's certificate: %w", err)
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("load the control plane's CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("load the control plane's CA: no certificate in %s", c.CA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}, nil
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
	credentials, err := a.cfg.Control.credentials()
	if err != nil {
		return err
	}
	return a.open(ctx, a.cfg.Control.Listen, mux, credentials)
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
