// Package junos renders a router's plan as native Junos configuration (24.4R1),
// all of it inside one configuration group.
//
// In: a compile.RouterPlan. Out: a junosconf.Tree, and the same as text, as
// `set` lines, as JSON for Juniper's YANG, or as a managed config entry. Next:
// services/push, which sends the text over gNMI with origin cli.
//
// A field of the policy that Junos cannot follow is an error that names it;
// docs/reference/junos.md has the table. Validated against Juniper's published
// YANG; never run on a Junos device.
package junos

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/internal/junosconf/lint"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Tree renders a plan.
func Tree(p compile.RouterPlan) (*junosconf.Tree, error) {
	r := &renderer{plan: p, tree: junosconf.New(), rewrites: map[rewrite]document.DSCP{}, unmarked: map[rewrite]string{}}
	r.classes()
	r.schedulers()
	r.policers()
	r.colours()
	r.profiles()
	r.filters()
	r.ports()
	r.lsps()
	r.circuits()
	r.apply()
	if err := errors.Join(append(r.errs, lint.Error(lint.Check(r.tree)))...); err != nil {
		return nil, fmt.Errorf("render the plan of %s for Junos: %w", p.Router, err)
	}
	return r.tree, nil
}

// Text is the plan as curly-brace text.
func Text(p compile.RouterPlan) (string, error) {
	t, err := Tree(p)
	if err != nil {
		return "", err
	}
	return t.Text(), nil
}

// Entries renders a plan as the one entry of a Junos router: the text of the group.
func Entries(p compile.RouterPlan) ([]configentry.Entry, error) {
	text, err := Text(p)
	if err != nil {
		return nil, err
	}
	return []configentry.Entry{{Path: junosconf.EntryPath, Body: text}}, nil
}

// SetLines is the plan as `set` lines.
func SetLines(p compile.RouterPlan) (string, error) {
	t, err := Tree(p)
	if err != nil {
		return "", err
	}
	return t.SetLines(), nil
}

// JSON is the plan as RFC 7951 JSON of Juniper's YANG.
func JSON(p compile.RouterPlan) ([]byte, error) {
	t, err := Tree(p)
	if err != nil {
		return nil, err
	}
	return t.JSON()
}

type renderer struct {
	plan compile.RouterPlan
	// variant is the split whose schedulers are being written.
	variant compile.Variant
	tree    *junosconf.Tree
	errs    []error
	// rewrites are the DSCPs that policers give packets through a loss priority.
	rewrites map[rewrite]document.DSCP
	// unmarked are the fields that give packets a loss priority alone.
	unmarked map[rewrite]string
	// policer names the policer for a queue's packets, by interface.
	policer map[string]map[string]policer
	// profile names the policer of a circuit.
	profile map[string]policer
}

// set adds a statement below the group; names have no blanks.
func (r *renderer) set(format string, args ...any) {
	words := strings.Fields(fmt.Sprintf(format, args...))
	if err := r.tree.Set(append([]string{"groups", junosconf.Group}, words...)...); err != nil {
		r.errs = append(r.errs, err)
	}
}

// refuse names the field of the policy that Junos cannot follow.
func (r *renderer) refuse(field, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
}

func owned(name string) string { return configentry.OwnedPrefix + name }

// port is an interface of the plan by its parts: ge-0/0/1.10 is unit 10 of ge-0/0/1, and ge-0/0/1 is its unit 0.
type port struct{ physical, unit string }

func portOf(name string) port {
	physical, unit, found := strings.Cut(name, ".")
	if !found {
		unit = "0"
	}
	return port{physical, unit}
}

// apply switches the group on.
func (r *renderer) apply() {
	if r.tree.Empty() {
		return
	}
	if err := r.tree.Set("apply-groups", junosconf.Group); err != nil {
		r.errs = append(r.errs, err)
	}
}

// defaultQueue gets packets no rule claims: the queue marked default, else the lowest.
func (r *renderer) defaultQueue() document.Queue {
	for _, q := range r.plan.Queues {
		if q.Default {
			return q
		}
	}
	return r.queues()[0]
}

// queues in the order of their numbers.
func (r *renderer) queues() []document.Queue {
	out := slices.Clone(r.plan.Queues)
	slices.SortFunc(out, func(a, b document.Queue) int { return int(a.ID) - int(b.ID) })
	return out
}

func (r *renderer) queue(name string) document.Queue {
	i := slices.IndexFunc(r.plan.Queues, func(q document.Queue) bool { return q.Name == name })
	if i < 0 {
		r.refuse("queue "+name, "the plan has no such queue")
		return document.Queue{}
	}
	return r.plan.Queues[i]
}
