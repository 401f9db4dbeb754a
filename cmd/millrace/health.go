package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

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

// readyPath answers whether requests find what they need; /healthz only whether the process runs.
const readyPath = "GET /readyz"

// readyTimeout is how long etcd and the bus may take to answer.
const readyTimeout = 2 * time.Second

// ready is nil while etcd, where a hosted service needs it, and the bus do their work.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var errs []error
	if p.state != nil {
		errs = append(errs, p.state.Ready(ctx))
	}
	if b, asks := p.bus.(interface{ Ready(context.Context) error }); asks {
		errs = append(errs, b.Ready(ctx))
	}
	return errors.Join(errs...)
}

// readiness is where balancers and supervisors ask, who have no login.
func (p *process) readiness() dashboard.Mount {
	return dashboard.Mount{
		Path: readyPath, Handler: http.HandlerFunc(p.answerReady),
		Call: func(r *http.Request) rights.Call { return rights.Page(r.URL.Path, rights.Nobody) },
	}
}

func (p *process) answerReady(w http.ResponseWriter, r *http.Request) {
	if err := p.ready(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
