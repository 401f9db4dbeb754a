package intent

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// SetAt is a path-selection-group of several LSPs.
type SetAt struct {
	Group string
	// ID is its number among the paths.
	ID int
	// Members are in the order of Spec.Sets.
	Members []SetMember
}

// SetMember is an LSP of a set.
type SetMember struct {
	LSP           string
	Path, Counter int
}

// readGroups reads path-selection-groups: one LSP is that LSP, several share the flows by weight.
func (c *compiler) readGroups() error {
	c.pathByGroup, c.sets = map[string]int{}, map[int][]kernel.Member{}
	for _, g := range c.ni("policy-forwarding", "path-selection-groups", "path-selection-group").entries() {
		members, err := c.readMembers(g)
		if err != nil {
			return err
		}
		name := g.text("group-id")
		if len(members) == 1 {
			c.pathByGroup[name] = members[0].Path
			continue
		}
		id, ok := c.ids.path("group " + name)
		if !ok {
			return tooMany(g.path, kernel.MaxPath, "tunnels and groups")
		}
		set := SetAt{Group: name, ID: id}
		for i, m := range members {
			lsp := c.tunnelOf(m.Path).Name
			if members[i].Counter, ok = c.ids.counter("group " + name + "/" + lsp); !ok {
				return tooMany(g.path, kernel.MaxRuleCounters, "counters of rules, circuits and LSPs")
			}
			set.Members = append(set.Members, SetMember{lsp, m.Path, members[i].Counter})
		}
		c.pathByGroup[name], c.sets[id] = id, members
		c.setsAt = append(c.setsAt, set)
	}
	return nil
}

// readMembers reads the LSPs of a group, each with its weight, 1 where none is given.
func (c *compiler) readMembers(g view) ([]kernel.Member, error) {
	var out []kernel.Member
	weights := map[string]int{}
	for _, l := range g.at("lsps", "lsp").entries() {
		weight, ok := l.number("config", "weight")
		if weights[l.text("name")] = int(weight); !ok {
			weights[l.text("name")] = 1
		}
	}
	for _, lsp := range g.list("config", "mpls-lsp") {
		i := slices.IndexFunc(c.tunnels, func(t Tunnel) bool { return t.Name == lsp })
		if i < 0 {
			return nil, invalid(g.path+"/config/mpls-lsp", "there is no tunnel %q", lsp)
		}
		out = append(out, kernel.Member{Path: c.tunnels[i].ID, Weight: max(weights[lsp], 1)})
		delete(weights, lsp)
	}
	for lsp := range weights {
		return nil, invalid(g.path+"/lsps", "gives a weight to %q, which is not one of the group's mpls-lsp", lsp)
	}
	switch {
	case len(out) == 0:
		return nil, invalid(g.path+"/config/mpls-lsp", "names no LSP")
	case len(out) > kernel.MaxMembers:
		return nil, unsupported(g.path+"/config/mpls-lsp", "names %d LSPs; %d are implemented", len(out), kernel.MaxMembers)
	}
	slices.SortFunc(out, func(a, b kernel.Member) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

func (c *compiler) tunnelOf(path int) Tunnel {
	return c.tunnels[slices.IndexFunc(c.tunnels, func(t Tunnel) bool { return t.ID == path })]
}

// paths are the LSPs that a path of a rule may be.
func (c *compiler) paths(path int) []int {
	members, is := c.sets[path]
	if !is {
		return []int{path}
	}
	var out []int
	for _, m := range members {
		out = append(out, m.Path)
	}
	return out
}
