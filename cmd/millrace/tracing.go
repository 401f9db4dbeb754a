package main

import (
	"context"
	"net/http"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/trace"
)

// trace sends spans where the configuration says, until the process is closed.
func (p *process) trace(ctx context.Context) error {
	name := "millrace"
	if len(p.hosted) == 1 {
		for service := range p.hosted {
			name = "millrace-" + service
		}
	}
	stop, err := trace.Start(ctx, p.cfg.Tracing, name, p.log)
	if err == nil {
		p.closers = append(p.closers, stop)
	}
	return err
}

// changes reports whether a request begins a trace where none came with it: a call that changes something. Readers ask
// again and again.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && rights.Of(r.URL.Path).Changes
}
