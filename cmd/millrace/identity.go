package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/services/audit"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/identity"
)

// buildIdentity comes before the dashboard, whose gate asks it.
func buildIdentity(p *process, cfg identity.Configuration) (lifecycle.Component, error) {
	c, err := identity.New(cfg, identity.Dependencies{State: p.state, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return nil, err
	}
	p.identity = c
	return c, nil
}

// buildAudit gives the port's gate somebody who writes down, unless logins are off.
func buildAudit(p *process, cfg audit.Configuration) (lifecycle.Component, error) {
	c, err := audit.New(cfg, audit.Dependencies{
		On: p.logins(), State: p.state, Log: p.log, Registerer: p.metrics,
	})
	if err != nil {
		return nil, err
	}
	p.gate.Record = c.Recorder()
	return c, nil
}

// auditors is who writes down what this process is asked, where services/audit runs elsewhere: every process appends to
// the one chain.
func (p *process) auditors() ([]lifecycle.Named, error) {
	if p.hosted["audit"] || !p.logins() {
		return nil, nil
	}
	c, err := buildAudit(p, p.cfg.settings("audit").(audit.Configuration))
	return []lifecycle.Named{{Name: "audit", Component: c}}, err
}

// recorder is the gate's, also for calls within the process.
func (p *process) recorder() rpc.Recorder { return p.gate.Record }

// provesCallers refuses logins where a caller could be made up: services in processes of their own prove to each other
// who they are, and for whom they call, by certificates, also on the loopback, which other users of the host reach.
func provesCallers(cfg *config) error {
	if !cfg.TLS.on() && cfg.logins() {
		return errors.New("logins are on (identity.mode, default on), and services in processes of their own know callers by certificates, also on the loopback: set tls.folder (`millrace ca` makes certificates), or write identity: {mode: off}, with which everybody who reaches a port may do everything, or run `millrace up`")
	}
	return nil
}

// warnOpen says at each start that other hosts may do everything, where somebody has asked for that.
func (p *process) warnOpen() {
	address := p.cfg.settings("dashboard").(dashboard.Configuration).Listen
	if p.listener != nil {
		address = p.listener.Addr().String()
	}
	if p.logins() || !openAt(address, p.hosted[rights.Front] || p.credentials == nil) {
		return
	}
	p.log.Warn("identity.mode is off: every client that reaches this address, from other hosts too, may read and change everything without a login", "listen", address)
}

// openAt reports whether other hosts reach an address. everybody: they need no certificate of a service for it.
func openAt(address string, everybody bool) bool {
	host, _, err := net.SplitHostPort(address)
	return everybody && err == nil && !loopback(host)
}

// announce prints the link of the first login, once the port is there. It goes to the terminal, not to the log.
func (p *process) announce(ctx context.Context) error {
	if p.identity == nil || !p.identity.On() {
		return nil
	}
	code, err := p.identity.LoginLink(ctx, !p.link)
	if err != nil || code == "" {
		return err
	}
	base := p.cfg.settings("identity").(identity.Configuration).URL
	switch {
	case base != "":
	case p.page != nil:
		base = p.page.URL()
	default:
		base = p.cfg.Endpoints[rights.Front].first()
	}
	fmt.Fprintf(os.Stdout, "Log in within %s, once: %s/#login=%s\n", p.identity.Lifetime(), base, code)
	return nil
}
