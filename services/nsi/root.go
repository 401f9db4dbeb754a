// Package nsi is a provider of the OGF Network Service Interface, Connection Service 2.0 (GFD.212), in front of
// services/circuits: other networks' programs reserve, commit, provision, release and terminate connections by SOAP,
// and are called back.
//
// In: SOAP requests of requesters, circuits as services/circuits knows them. Out: requests to services/circuits,
// callbacks, discovery documents, one record per connection in etcd, events of its certificates. Next:
// services/circuits.
//
// Who decides what: services/nsi/states what a connection may do next; services/nsi/soap what a message is. A request
// is recorded as work of its connection before it is acknowledged. One replica, under a lock in etcd, does the work:
// each call to services/circuits may be repeated, and what came of it is recorded together with the message that tells
// it. Then the message is sent.
package nsi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// Dependencies of the provider.
type Dependencies struct {
	State      *state.Store
	Circuits   circuitsv1connect.CircuitsServiceClient
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Events of certificates; nil: the log alone has them.
	Events *events.Publisher
	// Failed hears that the endpoint has ended, though it was not to stop; nil: nobody does.
	Failed func(error)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Component is the provider.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	loops   lifecycle.Loops
	server  *http.Server
	client  *http.Client
	// listener is where it serves.
	listener net.Listener
	// since is when it was made.
	since time.Time

	mu sync.Mutex
	// known are all connections, followed from etcd; woken is signalled when one has changed.
	known map[string]entry
	woken chan struct{}
	// pauses are those of jobs that failed.
	pauses map[job]pause
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Listen != "" && deps.Circuits == nil {
		return nil, errors.New("nsi: it needs services/circuits; host it, give its endpoint, or remove nsi.listen")
	}
	if deps.Failed == nil {
		deps.Failed = func(error) {}
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &Component{cfg: cfg, deps: deps, known: map[string]entry{}, woken: make(chan struct{}, 1), pauses: map[job]pause{}}
	c.since = deps.Now()
	c.metrics = newMetrics(deps.Registerer)
	return c, nil
}

// Start serves, where there is an address to serve on, and does the work while no other replica does.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	if c.cfg.Listen == "" {
		return nil
	}
	if c.deps.State == nil {
		return errors.New("nsi: no etcd to keep connections in")
	}
	transport := &http.Transport{TLSHandshakeTimeout: answerWithin, MaxIdleConnsPerHost: 1}
	listener, err := net.Listen("tcp", c.cfg.Listen)
	if err != nil {
		return fmt.Errorf("nsi listen: %w", err)
	}
	c.listener = listener
	if c.cfg.TLS.Cert != "" {
		credentials, err := mtls.New(c.cfg.TLS.files(), mtls.Dependencies{Use: "nsi", Log: c.deps.Log, Registerer: c.deps.Registerer, Events: c.deps.Events})
		if err != nil {
			return errors.Join(fmt.Errorf("nsi tls: %w", err), listener.Close())
		}
		c.loops.Go(credentials.Run)
		listener = tls.NewListener(listener, credentials.Server(tls.RequireAndVerifyClientCert, "http/1.1"))
		transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			d := tls.Dialer{Config: mtls.To(credentials.Client(), address)}
			return d.DialContext(ctx, network, address)
		}
	}
	// No redirect: it could lead to where callbacks may not go.
	c.client = &http.Client{
		Timeout: answerWithin, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.server = &http.Server{Handler: c.Handler(), ReadHeaderTimeout: rpc.HeaderPatience, ReadTimeout: rpc.HeaderPatience, MaxHeaderBytes: 1 << 14}
	c.loops.Go(func(context.Context) {
		if err := c.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.deps.Failed(fmt.Errorf("nsi: the endpoint ended: %w", err))
		}
	})
	c.loops.Go(c.follow)
	c.loops.Go(c.lead)
	return nil
}

// Address is where it serves, after Start.
func (c *Component) Address() string { return c.listener.Addr().String() }

// Stop ends serving. What was requested is done by another replica, or after the next start.
func (c *Component) Stop(ctx context.Context) error {
	if c.server == nil {
		return c.loops.Stop(ctx)
	}
	err := c.server.Shutdown(ctx)
	c.client.CloseIdleConnections()
	return errors.Join(err, c.loops.Stop(ctx))
}

// answerWithin bounds a requester's answer to a callback.
const answerWithin = 20 * time.Second
