package junos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/push/driver"
)

// Verify implements driver.Driver. State that Junos does not stream is reported
// as unknown and fails nothing; streamed state that contradicts the config fails.
func (r *router) Verify(ctx context.Context, intended map[string]string) ([]driver.Check, error) {
	group, err := r.group(intended)
	if err != nil || group.Empty() {
		return nil, err
	}
	ctx = r.As(ctx)
	var out []driver.Check
	for _, look := range []func(context.Context, junosconf.View) ([]driver.Check, error){r.overridden, r.queues, r.lsps} {
		checks, err := look(ctx, group)
		if err != nil {
			return nil, err
		}
		out = append(out, checks...)
	}
	return out, nil
}

// group is the configuration group of the intended config.
func (r *router) group(intended map[string]string) (junosconf.View, error) {
	t, err := junosconf.Parse(intended[junosconf.EntryPath])
	if err != nil {
		return junosconf.View{}, fmt.Errorf("read the intended config of %s: %w", r.Name, err)
	}
	return t.View().Entry("groups", junosconf.Group), nil
}

// queues looks for the counters of each port's queues. A counter at zero is not
// sent, so one that is missing proves nothing.
func (r *router) queues(ctx context.Context, group junosconf.View) ([]driver.Check, error) {
	cos := group.In("class-of-service")
	ports := cos.In("interfaces").List("interface")
	if len(ports) == 0 {
		return nil, nil
	}
	answers, err := r.once(ctx, []*gnmi.PathElem{{Name: "qos"}, {Name: "interfaces"}})
	if errors.Is(driver.Lost(err), driver.ErrLost) {
		return nil, driver.Lost(err)
	}
	seen := map[string]bool{}
	for _, a := range answers {
		seen[keyOf(a, "interface", "interface-id")+" "+keyOf(a, "queue", "name")] = true
	}
	var out []driver.Check
	for _, p := range ports {
		var missing []string
		for _, c := range cos.Entry("scheduler-maps", p.Leaf("scheduler-map")).List("forwarding-class") {
			if !seen[p.Key()+" "+c.Key()] && !seen[p.Key()+".0 "+c.Key()] {
				missing = append(missing, c.Key())
			}
		}
		switch {
		case p.Leaf("scheduler-map") == "":
		case len(missing) == 0:
			out = append(out, driver.Check{OK: true, Text: p.Key() + " counts in every queue"})
		case r.profile.ZeroSuppressed:
			out = append(out, driver.Check{OK: true, Text: fmt.Sprintf("%s shows no counters of %s: unknown, or zero", p.Key(), strings.Join(missing, ", "))})
		default:
			out = append(out, driver.Check{Text: fmt.Sprintf("%s lacks queues %s", p.Key(), strings.Join(missing, ", "))})
		}
	}
	return out, nil
}

func keyOf(a answer, elem, key string) string {
	for _, e := range a.path {
		if bare(e.Name) == elem {
			return e.Keys[key]
		}
	}
	return ""
}

// lsps reads the state of each LSP.
func (r *router) lsps(ctx context.Context, group junosconf.View) ([]driver.Check, error) {
	want := group.In("protocols", "mpls").List("label-switched-path")
	if len(want) == 0 {
		return nil, nil
	}
	answers, err := r.once(ctx, []*gnmi.PathElem{
		{Name: "network-instances"}, {Name: "network-instance", Key: map[string]string{"name": "DEFAULT"}},
		{Name: "mpls"}, {Name: "lsps"}, {Name: "constrained-path"}, {Name: "tunnels"},
	})
	if errors.Is(driver.Lost(err), driver.ErrLost) {
		return nil, driver.Lost(err)
	}
	state := map[string]string{}
	for _, a := range answers {
		if n := len(a.path); n > 0 && bare(a.path[n-1].Name) == "oper-status" {
			state[keyOf(a, "tunnel", "name")] = bare(fmt.Sprint(a.value))
		}
	}
	var out []driver.Check
	for _, l := range want {
		is, known := state[l.Key()]
		if !known {
			out = append(out, driver.Check{OK: true, Text: "LSP " + l.Key() + ": the router does not say whether it is up"})
			continue
		}
		out = append(out, driver.Check{OK: is == "UP", Text: fmt.Sprintf("LSP %s is %s", l.Key(), strings.ToLower(is))})
	}
	return out, nil
}
