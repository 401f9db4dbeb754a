package intent

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

func (c *compiler) ni(names ...string) view {
	return c.root.at("network-instances", "network-instance").entry("DEFAULT").at(names...)
}

// readTunnels reads the LSPs with their explicit paths.
func (c *compiler) readTunnels() error {
	paths := map[string]view{}
	for _, p := range c.ni("mpls", "lsps", "constrained-path", "named-explicit-paths", "named-explicit-path").entries() {
		paths[p.text("name")] = p
	}
	for _, t := range c.ni("mpls", "lsps", "constrained-path", "tunnels", "tunnel").entries() {
		tunnel, err := c.readTunnel(t, paths)
		if err != nil {
			return err
		}
		c.tunnels = append(c.tunnels, tunnel)
	}
	slices.SortFunc(c.tunnels, func(a, b Tunnel) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

func (c *compiler) readTunnel(t view, paths map[string]view) (Tunnel, error) {
	out := Tunnel{Name: t.text("name")}
	if !ownName(out.Name) {
		return out, unsupported(t.path, "tunnels are named te-… (letters, digits, '-', '.', '_')")
	}
	if p := t.text("config", "signaling-protocol"); p != "PATH_SETUP_SR" {
		return out, unsupported(t.path+"/config/signaling-protocol", "is %q; only PATH_SETUP_SR is implemented", p)
	}
	if k := t.text("config", "type"); k != "P2P" {
		return out, unsupported(t.path+"/config/type", "is %q; only P2P is implemented", k)
	}
	var err error
	if out.Destination, err = netip.ParseAddr(t.text("p2p-tunnel-attributes", "config", "destination")); err != nil || !out.Destination.Is4() {
		return out, invalid(t.path+"/p2p-tunnel-attributes/config/destination", "needs an IPv4 address")
	}
	primaries := t.at("p2p-tunnel-attributes", "p2p-primary-path", "p2p-primary-path").entries()
	if len(primaries) != 1 {
		return out, unsupported(t.path+"/p2p-tunnel-attributes/p2p-primary-path", "has %d paths; exactly one is implemented", len(primaries))
	}
	primary := primaries[0]
	if m := primary.text("config", "path-computation-method"); m != "EXPLICITLY_DEFINED" {
		return out, unsupported(primary.path+"/config/path-computation-method", "is %q; only EXPLICITLY_DEFINED is implemented", m)
	}
	out.Path = primary.text("config", "explicit-path-name")
	path, ok := paths[out.Path]
	if !ok {
		return out, invalid(primary.path+"/config/explicit-path-name", "there is no named-explicit-path %q", out.Path)
	}
	if out.Hops, err = readHops(path, out.Destination); err != nil {
		return out, err
	}
	if out.ID, ok = c.numbers.path(out.Name); !ok {
		return out, unsupported(t.path, "more than %d tunnels", kernel.MaxPath)
	}
	return out, nil
}

// ownName keeps names safe to write into FRR's configuration.
func ownName(s string) bool {
	if len(s) < 4 || len(s) > 60 || s[:3] != "te-" {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_') {
			return false
		}
	}
	return true
}

func readHops(path view, destination netip.Addr) ([]Hop, error) {
	var out []Hop
	for _, o := range path.at("explicit-route-objects", "explicit-route-object").entries() {
		a, err := netip.ParseAddr(o.text("config", "address"))
		if err != nil || !a.Is4() {
			return nil, invalid(o.path+"/config/address", "needs an IPv4 address")
		}
		out = append(out, Hop{Address: a, Strict: o.text("config", "hop-type") != "LOOSE"})
	}
	if len(out) == 0 {
		return nil, invalid(path.path+"/explicit-route-objects", "names no hop")
	}
	if out[len(out)-1].Address != destination {
		out = append(out, Hop{Address: destination})
	}
	return out, nil
}

// readPolicies reads the forwarding policies, every rule expanded to pairs of prefixes.
func (c *compiler) readPolicies() error {
	c.policies, c.rules = map[string][]kernel.Rule{}, map[RuleID]int{}
	for _, p := range c.ni("policy-forwarding", "policies", "policy").entries() {
		name := p.text("policy-id")
		if t := p.text("config", "type"); t != "MATCH_ACTION_POLICY" {
			return unsupported(p.path+"/config/type", "is %q; only MATCH_ACTION_POLICY is implemented", t)
		}
		lengths := map[[2]int]bool{}
		for _, r := range p.at("rules", "rule").entries() {
			rules, err := c.readRule(name, r)
			if err != nil {
				return err
			}
			for _, k := range rules {
				lengths[[2]int{k.Src.Bits(), k.Dst.Bits()}] = true
			}
			c.policies[name] = append(c.policies[name], rules...)
		}
		if len(lengths) > kernel.MaxLengthPairs {
			return unsupported(p.path, "uses %d different pairs of prefix lengths; %d are implemented", len(lengths), kernel.MaxLengthPairs)
		}
	}
	return nil
}

func (c *compiler) readRule(policy string, r view) ([]kernel.Rule, error) {
	sequence, _ := r.number("sequence-id")
	src, err := c.prefixes(r, "source")
	if err != nil {
		return nil, err
	}
	dst, err := c.prefixes(r, "destination")
	if err != nil {
		return nil, err
	}
	mark, err := c.mark(r)
	if err != nil {
		return nil, err
	}
	slot, ok := c.numbers.hit(policy + "/" + strconv.FormatUint(sequence, 10))
	if !ok {
		return nil, unsupported(r.path, "more than %d rules", kernel.MaxHits)
	}
	c.rules[RuleID{policy, uint32(sequence)}] = slot
	var out []kernel.Rule
	for _, s := range src {
		for _, d := range dst {
			out = append(out, kernel.Rule{Sequence: uint32(sequence), Src: s, Dst: d, Mark: mark, Hit: slot})
		}
	}
	return out, nil
}

// prefixes of one side of a rule: an address, a set, or any.
func (c *compiler) prefixes(r view, side string) ([]netip.Prefix, error) {
	one, set := r.text("ipv4", "config", side+"-address"), r.text("ipv4", "config", side+"-address-prefix-set")
	where := r.path + "/ipv4/config/" + side + "-address"
	switch {
	case one != "" && set != "":
		return nil, invalid(where, "give an address or a prefix set, not both")
	case one != "":
		return parsePrefixes(where, []string{one})
	case set != "":
		return c.prefixSet(where+"-prefix-set", set)
	}
	return []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}, nil
}

func (c *compiler) prefixSet(where, name string) ([]netip.Prefix, error) {
	if s := c.root.at("defined-sets", "ipv4-prefix-sets", "ipv4-prefix-set").entry(name); s.exists() {
		return parsePrefixes(s.path+"/config/prefix", s.list("config", "prefix"))
	}
	return nil, invalid(where, "there is no ipv4-prefix-set %q", name)
}

func parsePrefixes(where string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil || !p.Addr().Is4() {
			return nil, invalid(where, "%q is no IPv4 prefix", s)
		}
		out = append(out, p.Masked())
	}
	if len(out) == 0 {
		return nil, invalid(where, "has no prefix, so the rule would match nothing")
	}
	return out, nil
}

// mark is what a rule does: its class and its LSP.
func (c *compiler) mark(r view) (uint32, error) {
	action := r.at("action")
	if a := action.text("forwarding", "config", "forwarding-action"); a != "" && a != "FORWARD" {
		return 0, unsupported(action.path+"/forwarding/config/forwarding-action", "is %q; only FORWARD is implemented", a)
	}
	class, path := 0, 0
	if group := action.text("forwarding", "config", "qos-forwarding-group"); group != "" {
		queue := c.queueOf(group)
		if queue == "" {
			return 0, invalid(action.path+"/forwarding/config/qos-forwarding-group", "forwarding group %q has no output-queue", group)
		}
		var ok bool
		if class, ok = c.numbers.class(queue); !ok {
			return 0, unsupported(r.path, "more than %d queues in use", kernel.MaxClass)
		}
	}
	if group := action.text("config", "path-selection-group"); group != "" {
		id, err := c.pathOf(action.path, group)
		if err != nil {
			return 0, err
		}
		path = id
	}
	if class == 0 && path == 0 {
		return 0, invalid(action.path, "does nothing; give a qos-forwarding-group, a path-selection-group, or both")
	}
	return kernel.Mark(class, path), nil
}

func (c *compiler) queueOf(group string) string {
	return c.root.at("qos", "forwarding-groups", "forwarding-group").entry(group).text("config", "output-queue")
}

func (c *compiler) pathOf(where, group string) (int, error) {
	g := c.ni("policy-forwarding", "path-selection-groups", "path-selection-group").entry(group)
	if !g.exists() {
		return 0, invalid(where, "there is no path-selection-group %q", group)
	}
	lsps := g.list("config", "mpls-lsp")
	if len(lsps) != 1 {
		return 0, unsupported(g.path+"/config/mpls-lsp", "names %d LSPs; exactly one is implemented", len(lsps))
	}
	id, ok := c.numbers.next.Paths[lsps[0]]
	if !ok {
		return 0, invalid(g.path+"/config/mpls-lsp", "there is no tunnel %q", lsps[0])
	}
	return id, nil
}

// readBindings reads which policy classifies what comes in where.
func (c *compiler) readBindings() error {
	c.bindings = map[string]string{}
	for _, e := range c.ni("policy-forwarding", "interfaces", "interface").entries() {
		policy := e.text("config", "apply-forwarding-policy")
		if policy == "" {
			continue
		}
		name := interfaceName(e)
		if _, ok := c.lines(name); !ok {
			return invalid(e.path, "this router has no interface %s", name)
		}
		if _, ok := c.policies[policy]; !ok {
			return invalid(e.path+"/config/apply-forwarding-policy", "policy %q has no rules", policy)
		}
		if _, twice := c.bindings[name]; twice {
			return invalid(e.path, "interface %s has a policy already", name)
		}
		c.bindings[name] = policy
	}
	return nil
}
