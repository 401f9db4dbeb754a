package peagent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"time"
)

// vtyshTimeout is generous: on a slow router a call takes half a second.
const vtyshTimeout = 20 * time.Second

// learnRoutes follows FRR until ctx ends.
func (a *Agent) learnRoutes(ctx context.Context) {
	for {
		if err := a.readRoutes(ctx); err != nil && ctx.Err() == nil {
			a.metrics.errors.Inc()
			a.log.Warn("routes of VRFs not read; the last known stay", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(a.cfg.FRR.Every):
		}
	}
}

// readRoutes reads each VRF once and hands on what changed.
func (a *Agent) readRoutes(ctx context.Context) error {
	for i, v := range a.cfg.VPNs {
		if v.VRF == "" {
			continue
		}
		raw, err := vtysh(ctx, a.cfg.FRR.Instance, "show ip route vrf "+v.VRF+" bgp json")
		if err != nil {
			return err
		}
		routes, err := parseRoutes(raw)
		if err != nil {
			return fmt.Errorf("VRF %s: %w", v.VRF, err)
		}
		maps.Copy(routes, v.configured())
		a.mu.Lock()
		if !maps.Equal(routes, a.reg.routes[i]) {
			err = a.setRoutes(i, routes)
			a.log.Info("routes learnt", "vpn", v.Name, "prefixes", len(routes))
		}
		a.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func vtysh(ctx context.Context, instance, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, vtyshTimeout)
	defer cancel()
	args := []string{"-c", command}
	if instance != "" {
		args = append([]string{"-N", instance}, args...)
	}
	out, err := exec.CommandContext(ctx, "vtysh", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("vtysh %s: %w", command, err)
	}
	return out, nil
}

// route is what FRR's JSON says of a route. A VPN route resolves recursively
// through the far PE's address, which is the nexthop that says so.
type route struct {
	Selected bool `json:"selected"`
	Nexthops []struct {
		IP        string `json:"ip"`
		Recursive bool   `json:"recursive"`
	} `json:"nexthops"`
}

// parseRoutes reads `show ip route vrf NAME bgp json`. Of several PEs the first counts.
func parseRoutes(raw []byte) (map[netip.Prefix]netip.Addr, error) {
	var all map[string][]route
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read FRR's routes: %w", err)
	}
	out := map[netip.Prefix]netip.Addr{}
	for text, routes := range all {
		p, err := netip.ParsePrefix(text)
		if err != nil || !p.Addr().Is4() {
			continue // IPv6 is not controlled
		}
		for _, r := range routes {
			for _, n := range r.Nexthops {
				if pe, err := netip.ParseAddr(n.IP); err == nil && pe.Is4() && n.Recursive && r.Selected && !out[p].IsValid() {
					out[p] = pe
				}
			}
		}
	}
	return out, nil
}
