package junos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/push/driver"
)

// overridden is the check that the group has an effect.
func (r *router) overridden(ctx context.Context, group junosconf.View) ([]driver.Check, error) {
	found, readable, err := r.conflicting(ctx, group)
	switch {
	case err != nil:
		return nil, err
	case !readable:
		return []driver.Check{{OK: true, Text: "not checked, because its configuration cannot be read as text: whether unmanaged statements override group " + junosconf.Group}}, nil
	case found == nil:
		return []driver.Check{{OK: true, Text: "no unmanaged statement overrides group " + junosconf.Group}}, nil
	}
	return []driver.Check{{Text: fmt.Sprintf("unmanaged statements override group %s: %s", junosconf.Group, strings.Join(found, ", "))}}, nil
}

// Conflicts implements driver.Driver. The snapshot holds the group alone, so the statements outside it are read here.
// A commit changes none of them. Where the group is to go they are in nobody's way.
func (r *router) Conflicts(ctx context.Context, _ driver.Snapshot, entries map[string]string) ([]driver.Conflict, error) {
	group, err := r.group(entries)
	if err != nil || group.Empty() {
		return nil, err
	}
	found, _, err := r.conflicting(r.As(ctx), group)
	if err != nil || found == nil {
		return nil, err
	}
	return []driver.Conflict{{Path: junosconf.EntryPath, With: strings.Join(found, ", "), Stays: true}}, nil
}

// conflicting looks for unmanaged statements at the places where the group has
// some: Junos prefers them, and the group's would have no effect.
func (r *router) conflicting(ctx context.Context, group junosconf.View) (found []string, readable bool, err error) {
	var text strings.Builder
	places := [][]string{{"class-of-service", "interfaces"}, {"interfaces"}, {"routing-options", "interface-routes"}}
	if group.In("protocols", "l2circuit").Exists() {
		places = append(places, []string{"protocols", "l2circuit"})
	}
	for _, at := range places {
		inside, err := r.getText(ctx, at...)
		if errors.Is(driver.Lost(err), driver.ErrLost) {
			return nil, false, driver.Lost(err)
		}
		if err != nil {
			return nil, false, nil
		}
		text.WriteString("groups unmanaged { " + strings.Join(at, " { ") + " {\n" + inside + "\n" + strings.Repeat("}", len(at)) + "}\n")
	}
	t, err := junosconf.ParseKnown(text.String())
	if err != nil {
		return nil, false, fmt.Errorf("%s: read its unmanaged configuration: %w", r.Name, err)
	}
	unmanaged := t.View().Entry("groups", "unmanaged")
	return append(compareBindings(group, unmanaged), comparePorts(group, unmanaged)...), true, nil
}

// compareBindings lists what both sides bind, where they differ.
func compareBindings(group, unmanaged junosconf.View) []string {
	var out []string
	conflict := func(what, where, ours, theirs string) {
		if ours != "" && theirs != "" && ours != theirs {
			out = append(out, fmt.Sprintf("%s %s on %s", what, theirs, where))
		}
	}
	ribGroup := []string{"routing-options", "interface-routes", "rib-group"}
	conflict("rib-group", "interface-routes", group.In(ribGroup...).Leaf("inet"), unmanaged.In(ribGroup...).Leaf("inet"))
	for _, i := range group.In("class-of-service", "interfaces").List("interface") {
		theirs := unmanaged.In("class-of-service", "interfaces").Entry("interface", i.Key())
		conflict("scheduler-map", i.Key(), i.Leaf("scheduler-map"), theirs.Leaf("scheduler-map"))
		for _, u := range i.List("unit") {
			conflict("scheduler-map", i.Key()+"."+u.Key(), u.Leaf("scheduler-map"), theirs.Entry("unit", u.Key()).Leaf("scheduler-map"))
		}
	}
	for _, i := range group.In("interfaces").List("interface") {
		theirs := unmanaged.In("interfaces").Entry("interface", i.Key())
		for _, u := range i.List("unit") {
			for _, family := range []string{"inet", "inet6"} {
				at := []string{"family", family, "filter", "input"}
				conflict("filter", i.Key()+"."+u.Key(), u.In(at...).Leaf("filter-name"), theirs.Entry("unit", u.Key()).In(at...).Leaf("filter-name"))
			}
		}
	}
	return out
}
