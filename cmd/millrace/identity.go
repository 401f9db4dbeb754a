package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/services/audit"
	"github.com/millrace/millrace/services/identity"
)

// buildIdentity gives the port's gate somebody to ask, unless logins are off.
func buildIdentity(p *process, cfg identity.Configuration) (lifecycle.Component, error) {
	c, err := identity.New(cfg, identity.Dependencies{State: p.state, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return nil, err
	}
	p.identity = c
	if c.On() {
		p.gate.Who = c.Who
	}
	return c, nil
}

// buildAudit gives the port's gate somebody who writes down, unless logins are off.
func buildAudit(p *process, cfg audit.Configuration) (lifecycle.Component, error) {
	c, err := audit.New(cfg, audit.Dependencies{
		On: p.cfg.settings("identity").(identity.Configuration).Mode == identity.ModeOn, State: p.state, Log: p.log, Registerer: p.metrics,
	})
	if err != nil {
		return nil, err
	}
	p.gate.Record = c.Recorder()
	return c, nil
}

// recorder is the gate's, also for calls within the process.
func (p *process) recorder() rpc.Recorder { return p.gate.Record }

// servesWithoutLogin refuses logins where a caller would be lost: services in processes of their own do not yet
// prove to each other who they are, or for whom they call.
func servesWithoutLogin(cfg *config) error {
	if cfg.settings("identity").(identity.Configuration).Mode == identity.ModeOn {
		return errors.New("identity.mode is on: services in processes of their own cannot tell callers yet; run `millrace up`, or set identity.mode to off")
	}
	return nil
}

// announce prints the link of the first login, once the port is there. It goes to the terminal, not to the log.
func (p *process) announce(ctx context.Context) error {
	if p.identity == nil || p.page == nil || !p.identity.On() {
		return nil
	}
	code, err := p.identity.LoginLink(ctx, !p.link)
	if err != nil || code == "" {
		return err
	}
	base := p.cfg.settings("identity").(identity.Configuration).URL
	if base == "" {
		base = "http://" + p.page.Addr().String()
	}
	fmt.Fprintf(os.Stdout, "Log in within %s, once: %s/#login=%s\n", p.identity.Lifetime(), base, code)
	return nil
}
