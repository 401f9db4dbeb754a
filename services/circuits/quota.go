package circuits

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
)

const mega, giga, hour = 1_000_000, 1_000_000_000, 3600

// may reports whether somebody acts for a project. Who it is, is what the request says: see docs/reference/circuits.md.
func (c Configuration) may(by, project string) error {
	p, known := c.Projects[project]
	switch {
	case strings.TrimSpace(by) == "" || utf8.RuneCountInString(by) > maxName:
		return wrong("by", "say who asks, in 1 to %d characters", maxName)
	case !known && !slices.Contains(c.Operators, by):
		return refuse(codePolicy, "project", "there is no project %q; an operator adds it to circuits.projects", project)
	case !slices.Contains(p.Members, by) && !slices.Contains(c.Operators, by):
		return refuse(codePolicy, "by", "%s is neither a member of project %s nor an operator", by, project)
	}
	return nil
}

// mayAll reports whether somebody acts for all projects; otherwise says what to do, or whose it is.
func (c Configuration) mayAll(by, otherwise string) error {
	if !slices.Contains(c.Operators, by) {
		return refuse(codePolicy, "by", "%.100q is no operator (circuits.operators); %s", by, otherwise)
	}
	return nil
}

// mayBook reports whether somebody may book a circuit on these terms at all, whatever is free.
func (b *book) mayBook(by string, t *circuitsv1.Terms, r admit.Request, now time.Time) error {
	if err := b.cfg.may(by, t.GetProject()); err != nil {
		return err
	}
	p, known := b.cfg.Projects[t.GetProject()]
	switch {
	case !known:
		return refuse(codePolicy, "project", "there is no project %q; an operator adds it to circuits.projects", t.GetProject())
	case !b.joins(p, r.From, r.To):
		return refuse(codePolicy, "to", "project %s may not join %s and %s; see circuits.projects.%s.between", t.GetProject(), t.GetFrom(), t.GetTo(), t.GetProject())
	case priorityOf(t) < int64(p.Priority):
		return refuse(codePolicy, "priority", "project %s has no priority before %d", t.GetProject(), p.Priority)
	case setupOf(t) < p.setupPriority():
		return refuse(codePolicy, "setup_priority", "project %s has no setup priority before %d; see circuits.projects.%s.setup_priority", t.GetProject(), p.setupPriority(), t.GetProject())
	case p.Lead > 0 && r.Start > now.Add(p.Lead).Unix():
		return refuse(codeQuota, "start", "project %s books at most %s ahead", t.GetProject(), p.Lead)
	case p.GbitHours > 0 && r.End == calendar.Forever:
		return refuse(codeQuota, "end", "project %s has a limit of Gbit/s · h, so its circuits have an end", t.GetProject())
	}
	return nil
}

// joins reports whether a project may join two routers, given by their ids.
func (b *book) joins(p Project, from, to string) bool {
	is := func(name, id string) bool {
		n, err := b.topo.Resolve(name)
		return err == nil && n.ID.String() == id
	}
	return len(p.Between) == 0 || slices.ContainsFunc(p.Between, func(e Ends) bool {
		return is(e.A, from) && is(e.Z, to) || is(e.A, to) && is(e.Z, from)
	})
}

// mayHold reports whether a project may hold one more circuit.
func (b *book) mayHold(project string) error {
	if held := b.of(project).held; held >= cmp.Or(b.cfg.Projects[project].Holds, defaultHolds) {
		return refuse(codeQuota, "", "project %s holds %d circuits that are not committed; commit or release one", project, held)
	}
	return nil
}

// within reports whether what is granted keeps the quotas of its project.
func (b *book) within(project string, g *admit.Grant) error {
	p, u := b.cfg.Projects[project], b.of(project)
	sum := new(big.Int).Set(u.bits)
	for _, s := range g.Slots {
		if s.End != calendar.Forever {
			sum.Add(sum, bits(s))
		}
		if left := p.ConcurrentMbit*mega - (calendar.MaxRate - u.concurrent.LeastFree(s.Window, calendar.Hard)); p.ConcurrentMbit > 0 && s.Rate > left {
			return refuse(codeQuota, "rate_bits_per_second", "project %s has %d bit/s left of its %d Mbit/s at some time of the window", project, max(left, 0), p.ConcurrentMbit)
		}
	}
	limit := new(big.Int).Mul(big.NewInt(p.GbitHours), big.NewInt(giga*hour))
	if p.GbitHours > 0 && sum.Cmp(limit) > 0 {
		left := new(big.Int).Sub(limit, u.bits)
		return refuse(codeQuota, "end", "project %s has %s bit left of its %d Gbit/s · h", project, left, p.GbitHours)
	}
	return nil
}
