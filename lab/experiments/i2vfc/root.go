package i2vfc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/vpnshare"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

// Requires is what a phase's `requires:` says when it needs agents on the PEs.
const Requires = "i2vfc"

// Setting is one run of the phase with agents.
type Setting struct {
	A, B float64
}

// Options of Run.
type Options struct {
	Output string
	Binary string // of millrace, for the guest
	// Settings are run with agents, each after a run without.
	Settings []Setting
	// Runs is how often all of it is repeated; 0 is once.
	Runs int
	// Once are settings with agents that are run once, at the end.
	Once []Setting
	// Mode is how agents enforce rates: edt, htb, or auto, which is also the empty one.
	Mode string
	// Weights is the text of the VPNs' policy; empty gives all the same weight.
	Weights  []byte
	Lab      lab.Options
	Progress func(string)
}

// Result of one phase.
type Result struct {
	Name    string
	Started time.Time
	Setting Setting
	Phase   *lab.PhaseResult
	VPNs    []string
	Weights []float64
	// Flows is what `millrace vpn list` said of each ingress PE at the end; empty without agents.
	Flows string
}

// driver is one lab and what runs in it.
type driver struct {
	Options
	scenario *scenario.Scenario
	lab      *lab.Lab
	policy   vpnshare.Policy
}

// Run builds the lab once and runs the phase without agents, then once per setting with them, as often as requested.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (all []*Result, err error) {
	d := &driver{Options: o, scenario: s, policy: vpnshare.Policy{Weights: map[string]float64{}}}
	if len(o.Weights) > 0 {
		policy, err := vpnshare.Parse(o.Weights)
		if err == nil {
			d.policy, err = policy.Compile(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("weights: %w", err)
		}
	}
	o.Lab.Output, o.Lab.Binary, o.Lab.Progress = filepath.Join(o.Output, "lab"), o.Binary, o.Progress
	if d.lab, err = lab.Up(ctx, s, o.Lab); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.lab.Down()) }()
	if err := d.awaitVPNs(ctx); err != nil {
		return nil, err
	}
	for range max(o.Runs, 1) {
		r, err := d.phase(ctx, "without", nil)
		if err != nil {
			return all, err
		}
		all = append(all, r)
		if all, err = d.withAll(ctx, all, o.Settings); err != nil {
			return all, err
		}
	}
	return d.withAll(ctx, all, o.Once)
}

func (d *driver) withAll(ctx context.Context, all []*Result, settings []Setting) ([]*Result, error) {
	for _, setting := range settings {
		r, err := d.with(ctx, setting)
		if err != nil {
			return all, fmt.Errorf("a = %g, b = %g: %w", setting.A, setting.B, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// awaitVPNs waits until BGP has brought every VPN's routes.
func (d *driver) awaitVPNs(ctx context.Context) error {
	p, _ := d.scenario.Phase("without")
	deadline := time.Now().Add(2 * time.Minute)
	for _, a := range p.Applications {
		for try := 1; ; try++ {
			to, _ := d.scenario.Host(a.To)
			_, err := d.lab.Capture(ctx, a.From, "ping", "-c", "1", "-W", "1", to.Address.Addr().String())
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("VPN of %s: %w", a.Name, err)
			}
			if try%10 == 0 {
				d.again(ctx)
			}
			time.Sleep(time.Second)
		}
	}
	return nil
}

// again loads the PEs' configuration once more: where an interface joins its VRF
// late, FRR 8.4 derives a route distinguisher and targets of its own in place of those configured.
func (d *driver) again(ctx context.Context) {
	for _, r := range d.edges() {
		d.Progress("configure " + r.Name + " again")
		if _, err := d.lab.Capture(ctx, r.Name, "vtysh", "-N", r.Name, "-f", "/etc/frr/"+r.Name+"/frr.conf"); err != nil {
			d.Progress(err.Error())
		}
	}
}

// with runs the phase between start and removal of the agents.
func (d *driver) with(ctx context.Context, setting Setting) (*Result, error) {
	stop, err := d.startAgents(ctx, setting)
	if err != nil {
		return nil, err
	}
	r, err := d.phase(ctx, "with", &setting)
	return r, errors.Join(err, stop())
}

func (d *driver) phase(ctx context.Context, name string, setting *Setting) (*Result, error) {
	d.Progress("phase " + name)
	r := &Result{Name: name, Started: time.Now().UTC()}
	if setting != nil {
		r.Setting = *setting
		d.Progress(fmt.Sprintf("  a = %g, b = %g", setting.A, setting.B))
	}
	var err error
	if r.Phase, err = d.lab.RunPhase(ctx, name, lab.Observer{}); err != nil {
		return nil, err
	}
	for _, a := range r.Phase.Applications {
		if vpn := vpnOf(a); vpn != "" && !slices.Contains(r.VPNs, vpn) {
			w, ok := d.policy.Weights[vpn]
			if !ok {
				w = 1
			}
			r.VPNs, r.Weights = append(r.VPNs, vpn), append(r.Weights, w)
		}
	}
	if setting != nil {
		r.Flows = d.list(ctx)
	}
	return r, nil
}

// vpnOf is the VPN of a TCP application: its group, or its name.
func vpnOf(a lab.ApplicationResult) string {
	switch {
	case a.Kind != scenario.TCP:
		return ""
	case a.Group != "":
		return a.Group
	}
	return a.Name
}

// list asks the agents.
func (d *driver) list(ctx context.Context) string {
	var b strings.Builder
	for _, r := range d.edges() {
		text, err := d.lab.Capture(ctx, r.Name, d.guestBinary(), "vpn", "list", "--server", apiURL)
		fmt.Fprintf(&b, "%s\n%s", r.Name, text)
		if err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	return b.String()
}

func (d *driver) edges() (all []scenario.Router) {
	for _, r := range d.scenario.Routers {
		if len(r.VRFs) > 0 {
			all = append(all, r)
		}
	}
	return all
}

func (d *driver) guestBinary() string { return filepath.Join(d.lab.Output, "bin", "millrace") }
