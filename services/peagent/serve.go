package peagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rpc"
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
	// Controllers may change weights: common names of certificates. Others whose certificate the CA signed may read.
	Controllers []string `yaml:"controllers"`
}

func (c Control) validate() error {
	if c.Listen == "" {
		return nil
	}
	if c.CA == "" || c.Cert == "" || c.Key == "" {
		return errors.New("control: name ca, cert and key; the agent accepts the control plane only over mutual TLS")
	}
	if len(c.Controllers) == 0 {
		return errors.New("control: controllers is missing: nobody could install weights; name who may, by the common name of the certificate, such as controllers: [controller]")
	}
	return nil
}

// serve opens the API and the metrics: for operators on this router, and for the control plane.
func (a *Agent) serve(ctx context.Context) error {
	if a.gather != nil && (a.cfg.Listen != "" || a.cfg.Control.Listen != "") {
		a.registerer.MustRegister(newCollector(a), monitor.Dependencies(a.dependencies))
	}
	if a.cfg.Listen != "" {
		guard := rpc.Guard{Hosts: a.cfg.Hosts, Setting: "hosts", Refused: func(reason string) { a.metrics.refused.WithLabelValues(reason).Inc() }}
		if err := a.open(ctx, a.cfg.Listen, guard.Wrap(a.mux()), nil); err != nil {
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
	mux := a.mux()
	mux.Handle(vpnv1connect.NewVpnAgentServiceHandler(installer{a}, rpc.Bounded(rpc.MaxRequest)))
	return a.open(ctx, a.cfg.Control.Listen, a.admit(mux), c.Server(tls.RequireAndVerifyClientCert, "h2", "http/1.1"))
}

// mux is what both ports serve.
func (a *Agent) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(a.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /ready", monitor.Dependencies(a.dependencies))
	mux.Handle("GET "+monitor.ProfilesPath, monitor.Loopback(monitor.Profiles()))
	if a.gather != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(a.gather, promhttp.HandlerOpts{}))
	}
	return mux
}

// dependencies are what the agent needs to share the core: its programs in the kernel.
func (a *Agent) dependencies() []monitor.Dependency {
	return []monitor.Dependency{{Name: "datapath", Ask: func(context.Context) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.dp == nil {
			return errors.New("its programs are not attached")
		}
		return nil
	}}}
}

// changes are the calls that need a name of Controllers.
var changes = []string{vpnv1connect.VpnAgentServiceInstallProcedure, vpnv1connect.VpnServiceSetWeightsProcedure}

// admit refuses changes by certificates that are not named, before it reads the request.
func (a *Agent) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := clientName(r)
		if !slices.Contains(changes, r.URL.Path) || slices.Contains(a.cfg.Control.Controllers, name) {
			next.ServeHTTP(w, r)
			return
		}
		a.metrics.refused.WithLabelValues("not-a-controller").Inc()
		a.log.Warn("weights refused", "client", name, "address", r.RemoteAddr)
		refused := connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%q may not change weights here; name it in control.controllers of the agent's configuration", name))
		_ = connect.NewErrorWriter().Write(w, r, refused) // the client may have disconnected
	})
}

// clientName is the common name of the certificate that the handshake has verified.
func clientName(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return ""
	}
	return r.TLS.PeerCertificates[0].Subject.CommonName
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
