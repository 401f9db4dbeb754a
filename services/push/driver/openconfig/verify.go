package openconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/push/driver"
)

// Verify implements driver.Driver. The state it reads comes from the kernel and
// the routing daemon, not from the configuration (docs/reference/routeragent.md).
func (r *router) Verify(ctx context.Context, intended map[string]string) ([]driver.Check, error) {
	e, err := Expect(intended)
	if err != nil {
		return nil, fmt.Errorf("%s: read its intended config: %w", r.Name, err)
	}
	var out []driver.Check
	if len(e.Queues) > 0 {
		checks, err := r.queues(ctx, e.Queues)
		if err != nil {
			return nil, err
		}
		out = append(out, checks...)
	}
	if len(e.Tunnels) > 0 {
		checks, err := r.tunnels(ctx, e.Tunnels)
		if err != nil {
			return nil, err
		}
		out = append(out, checks...)
	}
	if len(e.Rules) > 0 {
		checks, err := r.rules(ctx, e.Rules)
		if err != nil {
			return nil, err
		}
		out = append(out, checks...)
	}
	for _, name := range e.Circuits {
		check, err := r.circuit(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, check)
	}
	return out, nil
}

// circuit reads whether a router carries a circuit's frames.
func (r *router) circuit(ctx context.Context, name string) (driver.Check, error) {
	var v struct {
		Point []struct {
			Endpoints struct {
				Endpoint []struct{ State struct{ Active bool } }
			}
		} `json:"connection-point"`
	}
	if err := r.read(ctx, configentry.Circuits.Path(name)+"/connection-points", &v); err != nil {
		return driver.Check{}, err
	}
	for _, p := range v.Point {
		for _, e := range p.Endpoints.Endpoint {
			if e.State.Active {
				return driver.Check{OK: true, Text: "circuit " + name + " is attached"}, nil
			}
		}
	}
	return driver.Check{Text: "circuit " + name + " is not attached"}, nil
}

// read decodes the state below a path into v, without module names.
func (r *router) read(ctx context.Context, path string, v any) error {
	raw, err := r.get(ctx, gnmi.GetRequest_STATE, path)
	if err != nil || len(raw) == 0 {
		return err
	}
	text, err := configentry.Canonical(raw)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.Name, path, err)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("%s: %s: %w", r.Name, path, err)
	}
	return nil
}

func (r *router) queues(ctx context.Context, want map[string][]string) ([]driver.Check, error) {
	var v struct {
		Interface []struct {
			ID     string `json:"interface-id"`
			Output struct {
				Queues struct {
					Queue []struct{ Name string }
				}
			}
		}
	}
	if err := r.read(ctx, "/qos/interfaces", &v); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, i := range v.Interface {
		for _, q := range i.Output.Queues.Queue {
			found[i.ID+" "+q.Name] = true
		}
	}
	var out []driver.Check
	for _, port := range slices.Sorted(maps.Keys(want)) {
		var missing []string
		for _, queue := range want[port] {
			if !found[port+" "+queue] {
				missing = append(missing, queue)
			}
		}
		text := fmt.Sprintf("%s has queues %s", port, strings.Join(want[port], ", "))
		if len(missing) > 0 {
			text = fmt.Sprintf("%s lacks queues %s", port, strings.Join(missing, ", "))
		}
		out = append(out, driver.Check{OK: len(missing) == 0, Text: text})
	}
	return out, nil
}

func (r *router) tunnels(ctx context.Context, want []string) ([]driver.Check, error) {
	var v struct {
		Tunnel []struct {
			Name  string
			State struct {
				Status string `json:"oper-status"`
			}
		}
	}
	if err := r.read(ctx, configentry.Tunnel.Root+"/tunnels", &v); err != nil {
		return nil, err
	}
	status := map[string]string{}
	for _, t := range v.Tunnel {
		// An identity, with or without its module.
		_, word, found := strings.Cut(t.State.Status, ":")
		if !found {
			word = t.State.Status
		}
		status[t.Name] = word
	}
	var out []driver.Check
	for _, name := range want {
		is := status[name]
		if is == "" {
			is = "absent"
		}
		out = append(out, driver.Check{OK: is == "UP", Text: fmt.Sprintf("LSP %s is %s", name, strings.ToLower(is))})
	}
	return out, nil
}

func (r *router) rules(ctx context.Context, want map[string][]uint32) ([]driver.Check, error) {
	var v struct {
		Policy []struct {
			ID    string `json:"policy-id"`
			Rules struct {
				Rule []struct {
					Sequence uint32 `json:"sequence-id"`
				}
			}
		}
	}
	if err := r.read(ctx, configentry.ForwardingPolicy.Root+"/policies", &v); err != nil {
		return nil, err
	}
	installed := map[string]map[uint32]bool{}
	for _, p := range v.Policy {
		installed[p.ID] = map[uint32]bool{}
		for _, rule := range p.Rules.Rule {
			installed[p.ID][rule.Sequence] = true
		}
	}
	var out []driver.Check
	for _, filter := range slices.Sorted(maps.Keys(want)) {
		n := 0
		for _, sequence := range want[filter] {
			if installed[filter][sequence] {
				n++
			}
		}
		out = append(out, driver.Check{
			OK: n == len(want[filter]), Text: fmt.Sprintf("%d of %d rules of %s are installed", n, len(want[filter]), filter),
		})
	}
	return out, nil
}
