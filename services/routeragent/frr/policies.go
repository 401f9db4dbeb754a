package frr

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// objects are our part of FRR's running configuration.
type objects struct {
	// lists are segment lists and policies SR policies: the lines of a block by its first line.
	lists, policies map[string][]string
	routes          map[string]bool
}

func newObjects() objects {
	return objects{lists: map[string][]string{}, policies: map[string][]string{}, routes: map[string]bool{}}
}

// desired is the intended configuration of LSPs whose label stacks are known. A segment
// list is named after its labels, so that a changed path is a new list and the
// policy moves from one to the other in one step.
func desired(tunnels []intent.Tunnel, labels map[string][]uint32) objects {
	o := newObjects()
	for _, t := range tunnels {
		list := t.Name + "_" + sum(labels[t.Name])
		var body []string
		for i, l := range labels[t.Name] {
			body = append(body, fmt.Sprintf("index %d mpls label %d", (i+1)*10, l))
		}
		o.lists["segment-list "+list] = body
		o.policies[policy(t)] = []string{
			"name " + t.Name,
			fmt.Sprintf("candidate-path preference 100 name %s explicit segment-list %s", pathName(t), list),
		}
		o.routes[route(t)] = true
	}
	return o
}

// route is the default route of the LSP's table: staticd resolves the endpoint
// through the SR policy of that colour and follows it.
func route(t intent.Tunnel) string {
	return fmt.Sprintf("ip route 0.0.0.0/0 %s table %d color %d", t.Destination, kernel.TableBase+t.ID, t.ID)
}

// policy is the header of the LSP's SR policy; its colour is the LSP's ID.
func policy(t intent.Tunnel) string {
	return fmt.Sprintf("policy color %d endpoint %s", t.ID, t.Destination)
}

func pathName(t intent.Tunnel) string {
	if strings.HasPrefix(t.Path, "te-") && !strings.ContainsAny(t.Path, " \t\n!#") {
		return t.Path
	}
	return t.Name
}

func sum(labels []uint32) string {
	h := fnv.New32a()
	fmt.Fprint(h, labels)
	return fmt.Sprintf("%08x", h.Sum32())
}

// parseRunning finds our objects in `show running-config`: segment lists
// te-…, policies whose name is te-…, routes in our tables.
func parseRunning(config string) objects {
	o := newObjects()
	var header string
	var body []string
	flush := func() {
		switch {
		case strings.HasPrefix(header, "segment-list te-"):
			o.lists[header] = body
		case strings.HasPrefix(header, "policy color ") && len(body) > 0 && strings.HasPrefix(body[0], "name te-"):
			o.policies[header] = body
		}
		header, body = "", nil
	}
	for _, line := range strings.Split(config, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "segment-list ") && strings.HasPrefix(line, "  "), strings.HasPrefix(text, "policy color "):
			flush()
			header = text
		case text == "exit" || text == "!":
			flush()
		case header != "":
			body = append(body, text)
		case strings.HasPrefix(text, "ip route 0.0.0.0/0 ") && ourTable(text):
			o.routes[text] = true
		}
	}
	return o
}

func ourTable(line string) bool {
	f := strings.Fields(line)
	i := slices.Index(f, "table")
	var table int
	if i < 0 || i+1 >= len(f) {
		return false
	}
	fmt.Sscan(f[i+1], &table)
	return table > kernel.TableBase && table <= kernel.TableBase+kernel.MaxPath
}

// additions are the configuration lines that add to have what want has more.
func additions(have, want objects) []string {
	var sr, routes []string
	for _, h := range sorted(want.lists) {
		if !slices.Equal(have.lists[h], want.lists[h]) {
			sr = append(sr, block(h, want.lists[h])...)
		}
	}
	for _, h := range sorted(want.policies) {
		if !slices.Equal(have.policies[h], want.policies[h]) {
			sr = append(sr, block(h, want.policies[h])...)
		}
	}
	for _, r := range sorted(want.routes) {
		if !have.routes[r] {
			routes = append(routes, r)
		}
	}
	return append(srBlock(sr), routes...)
}

// removals are the configuration lines that remove what is not in
// keep: routes first, so that none resolves through a removed policy.
func removals(have, keep objects) []string {
	var sr, routes []string
	for _, r := range sorted(have.routes) {
		if !keep.routes[r] {
			routes = append(routes, "no "+r)
		}
	}
	for _, h := range sorted(have.policies) {
		if keep.policies[h] == nil {
			sr = append(sr, "  no "+h)
		}
	}
	for _, h := range sorted(have.lists) {
		if keep.lists[h] == nil {
			sr = append(sr, "  no "+h)
		}
	}
	return append(routes, srBlock(sr)...)
}

func block(header string, body []string) []string {
	out := []string{"  " + header}
	for _, b := range body {
		out = append(out, "   "+b)
	}
	return append(out, "  exit")
}

func srBlock(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append(append([]string{"segment-routing", " traffic-eng"}, lines...), " exit", "exit")
}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// ErrUnavailable means that this router has no FRR to make LSPs with.
var ErrUnavailable = errors.New("FRR is not reachable on this router")

// ErrUnresolved means that a path does not exist in the link-state database as it is now.
var ErrUnresolved = errors.New("path cannot be resolved to segments")

// Router is FRR on this router.
type Router struct {
	Vtysh Vtysh
	// Fault, when set, is asked before every change.
	Fault func(step string) error
}

// read fetches database and configuration in one call.
func (r *Router) read(ctx context.Context) (*Database, objects, error) {
	out, err := r.Vtysh.Show(ctx, append(slices.Clone(databaseCommands), "show running-config")...)
	if err != nil {
		return nil, objects{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	db, err := ParseDatabase(out)
	if err != nil {
		return nil, objects{}, err
	}
	_, config, _ := strings.Cut(out, "Current configuration:")
	return db, parseRunning(config), nil
}

// Database reads the link-state database.
func (r *Router) Database(ctx context.Context) (*Database, error) {
	out, err := r.Vtysh.Show(ctx, databaseCommands...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return ParseDatabase(out)
}

// Ensure makes the LSPs exist and returns the label stack of each.
func (r *Router) Ensure(ctx context.Context, tunnels []intent.Tunnel) (map[string][]uint32, error) {
	if len(tunnels) == 0 {
		return nil, nil
	}
	db, have, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	labels := map[string][]uint32{}
	for _, t := range tunnels {
		if labels[t.Name], err = db.Resolve(t.Hops); err != nil {
			return nil, fmt.Errorf("tunnel %s: %w: %w", t.Name, ErrUnresolved, err)
		}
	}
	want := desired(tunnels, labels)
	lines := additions(have, want)
	if len(lines) == 0 {
		return labels, nil
	}
	if err := r.change(ctx, "add LSPs to FRR", lines); err != nil {
		return nil, err
	}
	_, now, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if left := additions(now, want); len(left) > 0 {
		return nil, fmt.Errorf("FRR did not take: %s", strings.Join(left, " / "))
	}
	return labels, nil
}

// Prune removes our LSPs that are not in the list. labels are what Ensure returned for those that are.
func (r *Router) Prune(ctx context.Context, tunnels []intent.Tunnel, labels map[string][]uint32) error {
	_, have, err := r.read(ctx)
	if err != nil {
		return err
	}
	keep := desired(tunnels, labels)
	lines := removals(have, keep)
	if len(lines) == 0 {
		return nil
	}
	if err := r.change(ctx, "remove LSPs from FRR", lines); err != nil {
		return err
	}
	_, now, err := r.read(ctx)
	if err != nil {
		return err
	}
	if left := removals(now, keep); len(left) > 0 {
		return fmt.Errorf("FRR did not remove: %s", strings.Join(left, " / "))
	}
	return nil
}

// Verify reports LSPs that FRR does not have as they were ensured: a daemon that was started again has lost them.
func (r *Router) Verify(ctx context.Context, tunnels []intent.Tunnel, labels map[string][]uint32) error {
	out, err := r.Vtysh.Show(ctx, "show running-config")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if left := additions(parseRunning(out), desired(tunnels, labels)); len(left) > 0 {
		return fmt.Errorf("FRR lacks: %s", strings.Join(left, " / "))
	}
	return nil
}

// Renew removes an LSP from FRR and adds it again. When a link comes back and the
// policy becomes active again, FRR 8.4.4 leaves the route on the IGP's path and
// keeps stale next hops; a new route is right. Removal and addition are two
// files, because FRR would see no change in one.
func (r *Router) Renew(ctx context.Context, t intent.Tunnel) error {
	withdraw := append([]string{"no " + route(t)}, srBlock([]string{"  no " + policy(t)})...)
	if err := r.change(ctx, "withdraw "+t.Name, withdraw); err != nil {
		return err
	}
	_, err := r.Ensure(ctx, []intent.Tunnel{t})
	return err
}

func (r *Router) change(ctx context.Context, step string, lines []string) error {
	if r.Fault != nil {
		if err := r.Fault(step); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	if err := r.Vtysh.Apply(ctx, lines); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}
