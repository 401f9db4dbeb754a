package peagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"time"
)

// vtyshTimeout is long: on a slow router a call takes half a second.
const vtyshTimeout = 30 * time.Second

// followRoutes follows FRR until ctx ends.
func (a *Agent) followRoutes(ctx context.Context) {
	for {
		if err := a.readRoutes(ctx); err != nil && ctx.Err() == nil {
			a.metrics.errors.Inc()
			a.log.Warn("routes of VRFs not read; the last ones stay in force", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(a.cfg.FRR.Every):
		}
	}
}

// readRoutes reads all VRFs with one call of vtysh, which is expensive on a slow router, and applies the changes.
func (a *Agent) readRoutes(ctx context.Context) error {
	var vpns []int
	var commands []string
	for i, v := range a.cfg.VPNs {
		if v.VRF != "" {
			vpns = append(vpns, i)
			commands = append(commands, "-c", "show ip route vrf "+v.VRF+" bgp json", "-c", "show ipv6 route vrf "+v.VRF+" bgp json")
		}
	}
	raw, err := vtysh(ctx, a.cfg.FRR.Instance, commands)
	if err != nil {
		return err
	}
	answers := json.NewDecoder(bytes.NewReader(raw))
	var errs []error
	for _, i := range vpns {
		v := a.cfg.VPNs[i]
		var texts [2]json.RawMessage // IPv4, IPv6
		for of := range texts {
			if err := answers.Decode(&texts[of]); err != nil { // nothing behind it can be read either
				return errors.Join(append(errs, fmt.Errorf("VRF %s: read FRR's routes: %w", v.VRF, err))...)
			}
		}
		if err := a.learn(i, texts[:]); err != nil { // what is wrong with one VPN must not keep the others back
			errs = append(errs, fmt.Errorf("VRF %s: %w", v.VRF, err))
		}
	}
	return errors.Join(errs...)
}

// learn applies the routes of one VPN.
func (a *Agent) learn(vpn int, texts []json.RawMessage) error {
	routes := map[netip.Prefix]netip.Addr{}
	for _, text := range texts {
		some, err := parseRoutes(text)
		if err != nil {
			return err
		}
		maps.Copy(routes, some)
	}
	maps.Copy(routes, a.cfg.VPNs[vpn].configured())
	return a.replaceRoutes(vpn, routes)
}

func (a *Agent) replaceRoutes(vpn int, routes map[netip.Prefix]netip.Addr) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if maps.Equal(routes, a.reg.wanted[vpn]) && !a.reg.incomplete[vpn] {
		return nil
	}
	a.log.Info("routes learnt", "vpn", a.cfg.VPNs[vpn].Name, "prefixes", len(routes))
	return a.setRoutes(vpn, routes)
}

func vtysh(ctx context.Context, instance string, commands []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, vtyshTimeout)
	defer cancel()
	if instance != "" {
		commands = append([]string{"-N", instance}, commands...)
	}
	out, err := exec.CommandContext(ctx, "vtysh", commands...).Output()
	if err != nil {
		return nil, fmt.Errorf("ask FRR for the VRFs' routes: %w", err)
	}
	return out, nil
}

// route is a route in FRR's JSON. A VPN route resolves recursively through the far PE's address, which is the nexthop
// marked recursive.
type route struct {
	Selected bool `json:"selected"`
	Nexthops []struct {
		IP        string `json:"ip"`
		Recursive bool   `json:"recursive"`
	} `json:"nexthops"`
}

// parseRoutes reads `show ip|ipv6 route vrf NAME bgp json`. Of several PEs the first counts. IPv6 over an MPLS core has
// IPv4 next hops, written as ::ffff:A.B.C.D (RFC 4659, section 3.2.1.2).
func parseRoutes(raw []byte) (map[netip.Prefix]netip.Addr, error) {
	var all map[string][]route
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read FRR's routes: %w", err)
	}
	out := map[netip.Prefix]netip.Addr{}
	for text, routes := range all {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		for _, r := range routes {
			for _, n := range r.Nexthops {
				if pe, err := netip.ParseAddr(n.IP); err == nil && pe.Unmap().Is4() && n.Recursive && r.Selected && !out[p].IsValid() {
					out[p] = pe.Unmap()
				}
			}
		}
	}
	return out, nil
}
