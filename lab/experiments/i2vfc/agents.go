package i2vfc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

const (
	apiAddress = "127.0.0.1:4756"
	apiURL     = "http://" + apiAddress
	// patience with agents: programs load slowly into a guest without a JIT.
	patience = 90 * time.Second
)

// startAgents writes each PE's configuration and runs its agent; stop takes them off again.
func (d *driver) startAgents(ctx context.Context, setting Setting) (stop func() error, err error) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(d.edges()))
	stop = func() error {
		cancel()
		var errs []error
		for _, r := range d.edges() {
			<-ended
			_, err := d.lab.Capture(ctx, r.Name, d.guestBinary(), "pe", "--remove", "--config", d.config(r))
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	for _, r := range d.edges() {
		if err := d.configure(r, setting); err != nil {
			cancel()
			return nil, err
		}
	}
	for _, r := range d.edges() {
		log, err := os.Create(d.log(r))
		if err != nil {
			cancel()
			return nil, fmt.Errorf("open log: %w", err)
		}
		go func() {
			defer log.Close()
			ended <- d.lab.Exec(running, r.Name, []string{d.guestBinary(), "pe", "--config", d.config(r)}, lab.Stream{Stdout: log, Stderr: log})
		}()
	}
	for _, r := range d.edges() {
		if err := d.awaitAgent(ctx, r); err != nil {
			return nil, errors.Join(err, stop())
		}
	}
	return stop, nil
}

// awaitAgent waits until an agent answers and knows a flow per VPN.
func (d *driver) awaitAgent(ctx context.Context, r scenario.Router) error {
	deadline := time.Now().Add(patience)
	// Its log is read first: to ask costs the guest's one processor a second, which starting agents need.
	for !d.says(r, "controls VPN flows") && time.Now().Before(deadline) {
		time.Sleep(200 * time.Millisecond)
	}
	for {
		text, err := d.lab.Capture(ctx, r.Name, d.guestBinary(), "vpn", "list", "--server", apiURL)
		if err == nil && strings.Count(text, "10.255.0.") >= len(r.VRFs) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the agent of %s does not control %d VPN flows within %s: %v\n%s", r.Name, len(r.VRFs), patience, err, text)
		}
		time.Sleep(2 * time.Second)
	}
}

// says reports whether the last agent of a PE has logged something.
func (d *driver) says(r scenario.Router, text string) bool {
	log, err := os.ReadFile(d.log(r))
	return err == nil && strings.Contains(string(log), text)
}

func (d *driver) log(r scenario.Router) string {
	return filepath.Join(d.lab.Output, "logs", r.Name+".pe.log")
}

// mode is how agents enforce rates.
func (d *driver) mode() string {
	if d.Mode == "" {
		return "auto"
	}
	return d.Mode
}

func (d *driver) config(r scenario.Router) string {
	return filepath.Join(d.lab.Output, "pe-"+r.Name+".yaml")
}

// configure writes the configuration of a PE's agent; a real PE's file looks the same.
func (d *driver) configure(r scenario.Router, setting Setting) error {
	keys := filepath.Join(d.lab.Output, "pe.keys")
	files := map[string][]byte{keys: []byte("0 000102030405060708090a0b0c0d0e0f\n")}
	c := map[string]any{
		"pe": r.Loopback().String(), "keys": keys, "listen": apiAddress, "mode": d.mode(), "tick": "10ms", "flows": 64, "prefixes": 256,
		"pins": "/sys/fs/bpf/pe-" + r.Name, "frr": map[string]any{"instance": r.Name, "every": "5s"},
		"law": map[string]any{"a": setting.A, "b": setting.B},
	}
	if len(d.Weights) > 0 {
		policy := filepath.Join(d.lab.Output, "weights.yaml")
		c["weights"], files[policy] = policy, d.Weights
	}
	var core, peers []string
	for _, l := range d.scenario.Links {
		for _, e := range []scenario.Endpoint{l.A, l.B} {
			if e.Node == r.Name && d.scenario.BetweenRouters(l) {
				core = append(core, e.Interface)
			}
		}
	}
	for _, o := range d.edges() {
		if o.Name != r.Name {
			peers = append(peers, o.Loopback().String())
		}
	}
	var vpns []map[string]any
	for _, v := range r.VRFs {
		vpns = append(vpns, map[string]any{"name": v.Name, "id": v.Table, "ports": v.Interfaces, "vrf": v.Name})
	}
	c["core"], c["peers"], c["vpns"] = core, peers, vpns
	raw, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode configuration of %s: %w", r.Name, err)
	}
	files[d.config(r)] = raw
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return fmt.Errorf("write configuration of %s: %w", r.Name, err)
		}
	}
	return nil
}
