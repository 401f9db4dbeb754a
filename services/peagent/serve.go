package peagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/bounds"
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
	// CRLOverdue is what a list past its nextUpdate is good for: use, or refuse, which refuses every certificate of its
	// CA. Default use.
	CRLOverdue string `yaml:"crl_overdue"`
	// Roles by common name, URI or DNS name of the certificate: viewer reads, operator changes weights. Who is named
	// neither here nor in Controllers may do nothing. Both are read again when the file changes; the rest is not.
	Roles map[string]access.Role `yaml:"roles"`
	// Controllers are names with the role operator.
	Controllers []string `yaml:"controllers"`
}

// access are the roles of certificates.
func (c Control) access() access.Roles {
	names := maps.Clone(c.Roles)
	for _, name := range c.Controllers {
		if names == nil {
			names = map[string]access.Role{}
		}
		names[name] = access.Operator
	}
	return access.Roles{Names: names}
}

func (c Control) validate() error {
	if c.Listen == "" {
		return nil
	}
	if c.CA == "" || c.Cert == "" || c.Key == "" {
		return errors.New("control: name ca, cert and key; the agent accepts the control plane only over mutual TLS")
	}
	for _, name := range c.Controllers {
		if role, twice := c.Roles[name]; twice && role != access.Operator {
			return fmt.Errorf("control: %s is in controllers, and a %s in roles; name it once", name, role)
		}
	}
	switch c.CRLOverdue {
	case "", mtls.UseOverdue, mtls.RefuseOverdue:
	default:
		return fmt.Errorf("control: crl_overdue is %q; write %s or %s", c.CRLOverdue, mtls.UseOverdue, mtls.RefuseOverdue)
	}
	if c.access().Empty() {
		return errors.New("control: controllers is missing: nobody could install weights; name who may, by the common name of the certificate, such as controllers: [controller]")
	}
	if err := c.access().Check(); err != nil {
		return fmt.Errorf("control: roles: %w", err)
	}
	return nil
}

// serve opens the API and the metrics: for operators on this router, and for the control plane.
func (a *Agent) serve(ctx context.Context) error {
	if a.gather != nil && (a.cfg.Listen != "" || a.cfg.Control.Listen != "") {
		a.registerer.MustRegister(newCollector(a), monitor.Dependencies(a.dependencies))
	}
	if a.cfg.Listen != "" {
		a.log.Info("the API has no login: every process of this host may read flows and set weights", "address", a.cfg.Listen)
		guard := rpc.Guard{Hosts: a.cfg.Hosts, Setting: "hosts", Refused: func(reason string) { a.metrics.refused.WithLabelValues(reason).Inc() }}
		if err := a.open(ctx, a.cfg.Listen, guard.Wrap(a.mux()), false); err != nil {
			return err
		}
	}
	if a.cfg.Control.Listen == "" {
		return nil
	}
	files := mtls.Files{CA: a.cfg.Control.CA, Cert: a.cfg.Control.Cert, Key: a.cfg.Control.Key, CRL: a.cfg.Control.CRL, CRLOverdue: a.cfg.Control.CRLOverdue}
	c, err := mtls.New(files, mtls.Dependencies{Use: "peagent", Log: a.log, Registerer: a.registerer})
	if err != nil {
		return fmt.Errorf("load the agent's certificate and the control plane's CA: %w", err)
	}
	a.credentials = c
	if a.roles, err = a.cfg.watchRoles(a.log, a.rolesRefused); err != nil {
		return err
	}
	mux := a.mux()
	mux.Handle(vpnv1connect.NewVpnAgentServiceHandler(installer{a}, rpc.Bounded(rpc.MaxRequest)))
	return a.open(ctx, a.cfg.Control.Listen, a.admit(mux), true)
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
	return []monitor.Dependency{{Name: "datapath", Ask: func(context.Context) error { return a.attached() }}}
}

func (a *Agent) open(ctx context.Context, address string, h http.Handler, secure bool) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("open the API: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: rpc.HeaderPatience, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	if secure {
		s.Protocols.SetHTTP2(true)
		s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: clientLimits.Calls}
		s.TLSConfig = a.credentials.Server(tls.RequireAndVerifyClientCert, "h2", "http/1.1")
		a.conns = bounds.Listen(l, portLimits, func(why bounds.Reason) { a.metrics.closed.WithLabelValues(string(why)).Inc() })
		l = tls.NewListener(a.credentials.Listen(a.conns), s.TLSConfig)
	} else {
		s.Protocols.SetUnencryptedHTTP2(true) // gRPC
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
