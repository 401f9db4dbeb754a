package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/logging"
	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/services/dashboard"
)

// fail ends the process, so that a supervisor restarts it and no health check succeeds meanwhile.
func (p *process) fail(err error) {
	select {
	case p.failed <- err:
	default: // it ends already
	}
}

// watch ends the process with the error of a part, until the process is closed.
func (p *process) watch(failed <-chan error) {
	closed := make(chan struct{})
	go func() {
		select {
		case err := <-failed:
			p.fail(err)
		case <-closed:
		}
	}()
	p.closers = append(p.closers, func(context.Context) error { close(closed); return nil })
}

// drainBefore goes on for a while as a process that is not ready, so that balancers send elsewhere before its ports
// close. A part that ends meanwhile ends that too.
func (p *process) drainBefore() error {
	p.draining.Store(true)
	select {
	case <-time.After(p.drain):
		return nil
	case err := <-p.failed:
		p.log.Error("a part has ended while the process drained", "error", err)
		return err
	}
}

// errDraining is why a process that drains is not ready.
var errDraining = errors.New("the process stops, and answers until balancers send elsewhere")

// dependencies are what requests need: etcd, where a hosted service keeps state there, the bus, and the stores of
// hosted services.
func (p *process) dependencies() (all []monitor.Dependency) {
	if p.draining.Load() {
		all = append(all, monitor.Dependency{Name: "process", Ask: func(context.Context) error { return errDraining }})
	}
	if p.state != nil {
		all = append(all, monitor.Dependency{Name: "etcd", Ask: p.state.Ready})
	}
	if b, asks := p.bus.(interface{ Ready(context.Context) error }); asks {
		all = append(all, monitor.Dependency{Name: "bus", Ask: b.Ready})
	}
	return append(all, p.stores...)
}

// ready is nil while all dependencies do their work.
func (p *process) ready(ctx context.Context) error {
	_, answers := monitor.Dependencies(p.dependencies).Ask(ctx)
	return errors.Join(answers...)
}

// pages are those that every process serves. Balancers and supervisors ask without a login whether requests find what
// they need, at /ready or /readyz; /healthz says only whether the process runs.
func (p *process) pages() []dashboard.Mount {
	page := func(path string, needs rights.Role, h http.Handler) dashboard.Mount {
		return dashboard.Mount{Path: path, Handler: h, Call: func(r *http.Request) rights.Call { return rights.Page(r.URL.Path, needs) }}
	}
	ready := monitor.Dependencies(p.dependencies)
	return []dashboard.Mount{
		page("GET /ready", rights.Nobody, ready), page("GET /readyz", rights.Nobody, ready),
		versionPage(), p.sharingPage(), page("GET "+monitor.ProfilesPath, rights.Admin, p.administrators(monitor.Profiles())),
		page("GET "+logging.Path, rights.Admin, p.administrators(p.logging)), page("POST "+logging.Path, rights.Admin, p.administrators(p.logging)),
	}
}

// administrators has the gate before it where there are logins; where there are none it is for clients on this host.
func (p *process) administrators(h http.Handler) http.Handler {
	here := monitor.Loopback(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.gate.Who == nil {
			here.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
