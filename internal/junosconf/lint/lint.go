// Package lint finds the mistakes in a Junos configuration that Juniper's YANG
// lets through: names that lead nowhere, words that are only strings there,
// sums and ranges (gnmi.md section 2.4 lists what was seen to pass).
//
// In: a junosconf.Tree. Out: problems, each with its rule. Next:
// services/policy/render/junos, which must have none, and tests, where it is
// the commit check of a scripted router.
package lint

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/junosconf"
)

// Rule names a check; the tests have a failing example of each.
type Rule string

// The rules.
const (
	Dangling    Rule = "dangling"      // a name refers to nothing
	Priority    Rule = "priority"      // a priority that Junos does not have
	Rate        Rule = "transmit-rate" // outside 1 to 100, or over 100 together
	Buffer      Rule = "buffer-size"   // outside 0 to 100, or over 100 together
	QueueNum    Rule = "queue-num"     // outside 0 to 7, or two schedulers for one queue
	StrictHigh  Rule = "strict-high"   // more than one, or with a share of the excess
	Exact       Rule = "exact"         // without a rate
	DropProfile Rule = "drop-profile"  // points that do not rise, or do not pair
	CodePoint   Rule = "code-point"    // not of six or three bits, or in two classes
	Limit       Rule = "limit"         // policer rates and bursts out of order or range
	Action      Rule = "action"        // a term with two fates
	Term        Rule = "term"          // behind one that matches everything
	Path        Rule = "path"          // an LSP whose path ends elsewhere, or a prefix that two LSPs install
	VLAN        Rule = "vlan"          // a port and its units that do not fit each other
	Label       Rule = "label"         // a static label out of range, or in two circuits
	Circuit     Rule = "circuit"       // an L2 circuit without a number, or with another one's
	Name        Rule = "name"          // too long
	Reserved    Rule = "reserved"      // a class of ours that takes Junos' name or is one too many
)

// Problem is one mistake.
type Problem struct {
	Rule Rule
	// Where is the statement, as on the command line.
	Where, Text string
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s (%s)", p.Where, p.Text, p.Rule) }

// Error joins problems; nil where there are none.
func Error(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return fmt.Errorf("%d problems: %s", len(problems), strings.Join(lines, "; "))
}

type linter struct {
	problems []Problem
	// Views of the group under examination.
	cos, firewall, interfaces, options, l2circuit, mpls, instances, routing junosconf.View
}

// Check finds all problems, group by group: each must stand by itself.
func Check(t *junosconf.Tree) []Problem {
	var out []Problem
	for _, name := range t.View().Values("apply-groups") {
		if !t.View().Entry("groups", name).Exists() {
			out = append(out, Problem{Dangling, "apply-groups " + name, "there is no such group"})
		}
	}
	for _, g := range t.View().List("groups") {
		l := &linter{
			cos: g.In("class-of-service"), firewall: g.In("firewall"), interfaces: g.In("interfaces"), options: g.In("policy-options"),
			l2circuit: g.In("protocols", "l2circuit"), mpls: g.In("protocols", "mpls"), instances: g.In("routing-instances"), routing: g.In("routing-options"),
		}
		l.classes()
		l.schedulers()
		l.maps()
		l.codePoints()
		l.policers()
		l.filters()
		l.bindings()
		l.paths()
		l.ports()
		l.circuits()
		l.instancesAndRibs()
		for i := range l.problems {
			l.problems[i].Where = "groups " + g.Key() + " " + l.problems[i].Where
		}
		out = append(out, l.problems...)
	}
	return out
}

func (l *linter) add(rule Rule, where, format string, args ...any) {
	l.problems = append(l.problems, Problem{rule, where, fmt.Sprintf(format, args...)})
}

// refer checks that a name, where given, is an entry of a list.
func (l *linter) refer(where, name string, in junosconf.View, list string) {
	if name != "" && !in.Entry(list, name).Exists() {
		l.add(Dangling, where+" "+name, "there is no %s of this name", list)
	}
}

const (
	// maxName is Junos' bound on most names; names of interface-specific filters are appended to.
	maxName, maxFilterName = 64, 52
)

func (l *linter) name(where, name string, most int) {
	if len(name) > most {
		l.add(Name, where+" "+name, "the name has %d characters, more than %d", len(name), most)
	}
}
