// Package report says what a nightly run came to, for people who read it in the morning's mail: what came, what went,
// what waits and why, and exporters that were not trusted.
//
// In: the response of a nightly run, and the change sets that wait. Out: text, HTML, or a message with both. Next:
// `millrace alpha nightly --report`, whose output a NOC mails.
//
// Mutation testing: 43 of 45 killed (docs/reference/mutants.md).
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/units"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// Run is one run and what waits after it.
type Run struct {
	At       time.Time
	Response *alphav1.NightlyResponse
	// DryRun: nothing was stored and no change set requested.
	DryRun bool
	// Waiting are change sets of nightly runs, this one's among them, that have not ended.
	Waiting []*pushv1.ChangeSet
	// Unknown says why nobody knows what waits; empty: Waiting is complete.
	Unknown string
}

// Author is who requests change sets for nightly runs.
const Author = "alpha nightly"

// Waiting picks the change sets of nightly runs that have not ended, the oldest first.
func Waiting(all []*pushv1.ChangeSet) (out []*pushv1.ChangeSet) {
	for _, c := range all {
		if c.GetAuthor() == Author && why(c) != "" {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *pushv1.ChangeSet) int { return a.GetCreated().AsTime().Compare(b.GetCreated().AsTime()) })
	return out
}

// why a change set waits; empty: it has ended.
func why(c *pushv1.ChangeSet) string {
	switch c.GetState() {
	case pushv1.State_STATE_DRAFT:
		return "is not planned yet"
	case pushv1.State_STATE_PLANNED:
		return approvals(c)
	case pushv1.State_STATE_APPROVED:
		return "approved, and not applied yet"
	case pushv1.State_STATE_SCHEDULED:
		return "approved, waits for the maintenance window"
	case pushv1.State_STATE_CANARY:
		return fmt.Sprintf("router %s has it and is watched", c.GetCanary())
	case pushv1.State_STATE_APPLYING, pushv1.State_STATE_APPLIED:
		return "is being applied"
	case pushv1.State_STATE_ROLLING_BACK:
		return "is being rolled back"
	}
	return ""
}

// approvals says how many persons are missing, and what in the change set takes a person.
func approvals(c *pushv1.ChangeSet) string {
	rule := c.GetApprovalRule()
	missing := max(int(rule.GetPersons()), 1) - len(c.GetApprovals())
	if rule != nil && rule.GetPersons() == 0 {
		return "approved by its rule, waits for a guard"
	}
	text := "waits for one person's approval"
	if missing > 1 {
		text = fmt.Sprintf("waits for the approval of %d persons", missing)
	}
	if because := rule.GetBecause(); len(because) > 0 {
		text += ": " + strings.Join(because, "; ")
	}
	return text
}

// section is one heading with its table, or a sentence where there is nothing.
type section struct {
	Title   string
	Head    []string
	Rows    [][]string
	Nothing string
}

// Title is the subject of the mail.
func (n Run) Title() string {
	r := n.Response
	parts := []string{fmt.Sprintf("%d came", len(r.GetAdded())), fmt.Sprintf("%d went", len(r.GetAgedOut()))}
	if k := len(n.Waiting); k > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", k))
	}
	if k := len(r.GetRefused()); k > 0 {
		parts = append(parts, fmt.Sprintf("%d not trusted", k))
	}
	if k := len(r.GetWarnings()); k > 0 {
		parts = append(parts, fmt.Sprintf("%d to look at", k))
	}
	what := "Alpha pairs"
	if n.DryRun {
		what = "Alpha pairs, dry run"
	}
	return fmt.Sprintf("%s %s: %s", what, n.At.UTC().Format("2006-01-02"), strings.Join(parts, ", "))
}

func (n Run) sections() []section {
	r := n.Response
	came := section{Title: "What came", Head: []string{"pair", "from", "to", "exporter", "why"}, Nothing: "No pair came."}
	for _, p := range r.GetAdded() {
		came.Rows = append(came.Rows, []string{p.GetId(), p.GetSrc(), p.GetDst(), p.GetExporter(), strongest(p)})
	}
	went := section{Title: "What went", Head: []string{"pair", "from", "to", "exporter", "why"}, Nothing: "No pair went."}
	for _, p := range r.GetAgedOut() {
		went.Rows = append(went.Rows, []string{p.GetId(), p.GetSrc(), p.GetDst(), p.GetExporter(), "no flow since " + stamp(p.GetLastSeen().AsTime())})
	}
	waits := section{Title: "What waits", Head: []string{"change set", "since", "what", "why"}, Nothing: "No change set of a nightly run waits."}
	if n.Unknown != "" {
		waits.Nothing = "Nobody knows what waits: " + n.Unknown
	}
	for _, c := range n.Waiting {
		waits.Rows = append(waits.Rows, []string{c.GetId(), stamp(c.GetCreated().AsTime()), c.GetTitle(), why(c)})
	}
	refused := section{Title: "Exporters that were not trusted", Head: []string{"exporter", "why its pairs stay as they are"}, Nothing: "All exporters were trusted."}
	for _, f := range r.GetRefused() {
		refused.Rows = append(refused.Rows, []string{f.GetExporter(), f.GetReason()})
	}
	out := []section{came, went, waits, refused}
	if len(r.GetInCircuits()) > 0 {
		within := section{Title: "Within circuits, so not added", Head: []string{"circuit", "from", "to", "exporter", "why it is alpha"}}
		for _, in := range r.GetInCircuits() {
			p := in.GetPair()
			within.Rows = append(within.Rows, []string{in.GetCircuit(), p.GetSrc(), p.GetDst(), p.GetExporter(), strongest(p)})
		}
		out = append(out, within)
	}
	if len(r.GetWarnings()) > 0 {
		look := section{Title: "To look at", Head: []string{"what"}}
		for _, w := range r.GetWarnings() {
			look.Rows = append(look.Rows, []string{w})
		}
		out = append(out, look)
	}
	return out
}

// closing is the last sentence: what was asked of services/push, and what stayed.
func (n Run) closing() string {
	r := n.Response
	text := fmt.Sprintf("Pairs that were known, and sent again: %d.", len(r.GetRefreshed()))
	switch {
	case n.DryRun:
		return text + " Dry run: nothing was stored, and no change set was requested."
	case r.GetChangeId() != "":
		return text + fmt.Sprintf(" Change set %s was requested: millrace change show %s", r.GetChangeId(), r.GetChangeId())
	}
	return text + " No router's rules change, so no change set was requested."
}

// strongest describes the evidence with the most bytes.
func strongest(p *alphav1.Pair) string {
	var top *alphav1.Evidence
	for _, e := range p.GetEvidence() {
		if top == nil || e.GetBytes() > top.GetBytes() {
			top = e
		}
	}
	if top == nil {
		return "sent more than the threshold"
	}
	text := fmt.Sprintf("%.1f MB in the %g s after %s, threshold %s", float64(top.GetBytes())/1e6, top.GetInterval().AsDuration().Seconds(), stamp(top.GetIntervalStart().AsTime()), units.Size(top.GetMinBytes()))
	switch rate := top.GetSamplingRate(); {
	case rate == 0:
		text += ", sampling unknown: at least this"
	case rate > 1:
		text += fmt.Sprintf(", sampled 1:%d, one standard deviation %.1f %%", rate, 100*top.GetSamplingError())
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
