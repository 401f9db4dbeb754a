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

// Verify implements driver.Driver. State that Junos does not stream is said to
// be unknown and fails nothing; what it streams and what contradicts, fails.
func (r *router) Verify(ctx context.Context, e driver.Expectation) ([]driver.Check, error) {
	t, err := junosconf.Parse(e.Other[junosconf.UnitPath])
	if err != nil {
		return nil, fmt.Errorf("read what %s shall hold: %w", r.name, err)
	}
	if t.Empty() {
		return nil, nil
	}
	ctx = r.as(ctx)
	group := t.View().Entry("groups", junosconf.Group)
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

// overridden is the check that the group has an effect.
func (r *router) overridden(ctx context.Context, group junosconf.View) ([]driver.Check, error) {
	clashes, known, err := r.clashes(ctx, group)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return []driver.Check{{OK: true, Text: "not checked, because its configuration cannot be read as text: whether an operator's own statements override group " + junosconf.Group}}, nil
	case clashes == nil:
		return []driver.Check{{OK: true, Text: "no statement of an operator's own overrides group " + junosconf.Group}}, nil
	}
	return []driver.Check{{Text: fmt.Sprintf("an operator's own statements override group %s: %s", junosconf.Group, strings.Join(clashes, ", "))}}, nil
}

// Clashes implements driver.Clasher.
func (r *router) Clashes(ctx context.Context, units map[string]string) (map[string]string, error) {
	t, err := junosconf.Parse(units[junosconf.UnitPath])
	if err != nil || t.Empty() {
		return nil, err
	}
	clashes, _, err := r.clashes(r.as(ctx), t.View().Entry("groups", junosconf.Group))
	if err != nil || clashes == nil {
		return nil, err
	}
	return map[string]string{junosconf.UnitPath: strings.Join(clashes, ", ")}, nil
}

// clashes looks for an operator's own statements where the group has some: Junos
// prefers them, and the group's would have no effect. Not known: it cannot be read.
func (r *router) clashes(ctx context.Context, group junosconf.View) (found []string, known bool, err error) {
	var text strings.Builder
	for _, at := range [][]string{{"class-of-service", "interfaces"}, {"interfaces"}, {"routing-options", "interface-routes"}} {
		inside, err := r.getText(ctx, at...)
		if errors.Is(lost(err), driver.ErrLost) {
			return nil, false, lost(err)
		}
		if err != nil {
			return nil, false, nil
		}
		text.WriteString("groups own { " + strings.Join(at, " { ") + " {\n" + inside + "\n" + strings.Repeat("}", len(at)) + "}\n")
	}
	own, err := junosconf.ParseKnown(text.String())
	if err != nil {
		return nil, false, fmt.Errorf("%s: read its own configuration: %w", r.name, err)
	}
	return compareBindings(group, own.View().Entry("groups", "own")), true, nil
}

func compareBindings(group, own junosconf.View) []string {
	var out []string
	clash := func(what, where, ours, theirs string) {
		if ours != "" && theirs != "" && ours != theirs {
			out = append(out, fmt.Sprintf("%s %s on %s", what, theirs, where))
		}
	}
	ribGroup := []string{"routing-options", "interface-routes", "rib-group"}
	clash("rib-group", "interface-routes", group.In(ribGroup...).Leaf("inet"), own.In(ribGroup...).Leaf("inet"))
	for _, i := range group.In("class-of-service", "interfaces").List("interface") {
		theirs := own.In("class-of-service", "interfaces").Entry("interface", i.Key())
		clash("scheduler-map", i.Key(), i.Leaf("scheduler-map"), theirs.Leaf("scheduler-map"))
		for _, u := range i.List("unit") {
			clash("scheduler-map", i.Key()+"."+u.Key(), u.Leaf("scheduler-map"), theirs.Entry("unit", u.Key()).Leaf("scheduler-map"))
		}
	}
	for _, i := range group.In("interfaces").List("interface") {
		theirs := own.In("interfaces").Entry("interface", i.Key())
		for _, u := range i.List("unit") {
			for _, family := range []string{"inet", "inet6"} {
				at := []string{"family", family, "filter", "input"}
				clash("filter", i.Key()+"."+u.Key(), u.In(at...).Leaf("filter-name"), theirs.Entry("unit", u.Key()).In(at...).Leaf("filter-name"))
			}
		}
	}
	return out
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
	if errors.Is(lost(err), driver.ErrLost) {
		return nil, lost(err)
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

// lsps asks for the state of each LSP.
func (r *router) lsps(ctx context.Context, group junosconf.View) ([]driver.Check, error) {
	want := group.In("protocols", "mpls").List("label-switched-path")
	if len(want) == 0 {
		return nil, nil
	}
	answers, err := r.once(ctx, []*gnmi.PathElem{
		{Name: "network-instances"}, {Name: "network-instance", Key: map[string]string{"name": "DEFAULT"}},
		{Name: "mpls"}, {Name: "lsps"}, {Name: "constrained-path"}, {Name: "tunnels"},
	})
	if errors.Is(lost(err), driver.ErrLost) {
		return nil, lost(err)
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
