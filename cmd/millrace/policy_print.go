package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/units"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/document"
)

func printPlans(out io.Writer, r *policyv1.PlanResponse, f planFlags) {
	for _, p := range r.GetPlans() {
		printPlan(out, p)
		if f.entries {
			printEntries(out, p)
		}
	}
	if len(r.GetPlans())+len(r.GetAbsent()) == 0 && f.router == "" {
		fmt.Fprintln(out, "no router has a part in this policy: it has no classes, and no pair or circuit is redirected")
	}
	printSkipped(out, r, f.router, "")
}

// printSkipped lists the routers, pairs and circuits left out, behind the comment sign of the rendering. Of routers it
// is the one that was asked for, if one was.
func printSkipped(out io.Writer, r *policyv1.PlanResponse, router, comment string) {
	for _, name := range r.GetAbsent() {
		if router == "" || router == name {
			fmt.Fprintf(out, "%sleft out: router %s, because it is not in the topology\n", comment, name)
		}
	}
	for _, s := range r.GetSkipped() {
		fmt.Fprintf(out, "%sleft out: pair %s, because %s\n", comment, s.GetPair(), s.GetReason())
	}
	for _, c := range r.GetRefusedCircuits() {
		fmt.Fprintf(out, "%srefused: circuit %s, because %s\n", comment, c.GetCircuit(), c.GetReason())
	}
}

func printRendered(out io.Writer, r *policyv1.PlanResponse, router string) {
	for _, p := range r.GetPlans() {
		fmt.Fprint(out, p.GetRendered())
	}
	printSkipped(out, r, router, "# ")
}

func printEntries(out io.Writer, p *policyv1.RouterPlan) {
	for _, e := range p.GetEntries() {
		fmt.Fprintf(out, "  %s\n    %s\n", e.GetPath(), strings.ReplaceAll(e.GetBody(), "\n", "\n    "))
	}
}

func printPlan(out io.Writer, p *policyv1.RouterPlan) {
	fmt.Fprintf(out, "%s\n", p.GetRouter())
	for _, why := range p.GetReasons() {
		fmt.Fprintf(out, "  because   %s\n", why)
	}
	if s := p.GetScheduling(); s.GetExcess() == document.ExcessEqual.String() || s.GetPartition() == document.Strict.String() {
		fmt.Fprintf(out, "  queues    %s, excess %s\n", s.GetPartition(), s.GetExcess())
	}
	for _, q := range p.GetQueues() {
		fmt.Fprintf(out, "  queue     %s\n", queueText(q))
	}
	for _, port := range p.GetPorts() {
		fmt.Fprintf(out, "  port      %s at %s, buffer %s\n", port.GetInterface(), units.Rate(port.GetSpeed()), time.Duration(p.GetBufferTime()))
		for _, q := range port.GetQueues() {
			fmt.Fprintf(out, "    here    %s\n", queueText(q))
		}
	}
	for _, l := range p.GetLsps() {
		fmt.Fprintf(out, "  LSP       %s by %s\n", l.GetName(), strings.Join(segmentTexts(l.GetHops(), l.GetAdjacencies()), ", "))
	}
	for _, o := range p.GetPolicers() {
		fmt.Fprintf(out, "  policer   %s\n", policerText(o))
	}
	for _, o := range p.GetProfiles() {
		fmt.Fprintf(out, "  profile   %s\n", profileText(o))
	}
	for _, f := range p.GetFilters() {
		fmt.Fprintf(out, "  filter    %s on %s\n", f.GetName(), strings.Join(f.GetInterfaces(), ", "))
		for _, rule := range p.GetRules() {
			if rule.GetFilter() == f.GetName() {
				fmt.Fprintf(out, "  rule %4d %s\n", rule.GetSequence(), ruleText(rule))
			}
		}
	}
}

func queueText(q *policyv1.Queue) string {
	text := fmt.Sprintf("%s: id %d, %d %% of the rate, %d %% of the buffer, %s",
		q.GetName(), q.GetId(), q.GetWeight(), q.GetBuffer(), document.Priority(q.GetPriority()))
	if q.GetMaxRate() > 0 {
		text += fmt.Sprintf(", never more than %d %%", q.GetMaxRate())
	}
	for _, c := range q.GetDropProfiles() {
		of := "early drop"
		if c.GetLossPriority() != "" {
			of += " of loss priority " + c.GetLossPriority()
		}
		text += fmt.Sprintf(", %s from %d %% full, %d %% of them at %d %%", of, c.GetMin(), c.GetProbability(), c.GetMax())
	}
	if q.GetDefault() {
		text += ", default"
	}
	return text
}

func policerText(o *policyv1.Policer) string {
	text := fmt.Sprintf("%s on %s: queue %s up to %s and %s at once, above that %s", o.GetName(), strings.Join(o.GetInterfaces(), ", "),
		o.GetQueue(), units.Rate(o.GetRate()), units.Size(o.GetBurst()), actionText(o.GetExceed()))
	if o.GetPeakRate() > 0 {
		text += fmt.Sprintf(", above %s and %s at once %s", units.Rate(o.GetPeakRate()), units.Size(o.GetPeakBurst()), actionText(o.GetViolate()))
	}
	return text
}

func profileText(o *policyv1.Profile) string {
	return fmt.Sprintf("circuit %s: up to %s and %s at once, above that %s", o.GetCircuit(),
		units.Rate(o.GetRate()), units.Size(o.GetBurst()), cmp.Or(actionText(o.GetExceed()), "counted only"))
}

func actionText(a *policyv1.Action) string {
	var out []string
	if a.GetDrop() {
		out = append(out, "dropped")
	}
	if a.GetQueue() != "" {
		out = append(out, "to queue "+a.GetQueue())
	}
	if a.GetLossPriority() != "" {
		out = append(out, "loss priority "+a.GetLossPriority())
	}
	if a.Mark != nil {
		out = append(out, "DSCP "+document.DSCP(a.GetMark()).String())
	}
	return strings.Join(out, " and ")
}

func ruleText(r *policyv1.RedirectRule) string {
	text := fmt.Sprintf("%s: queue %s", matchText(r), r.GetQueue())
	if r.GetLsp() != "" {
		text += ", LSP " + r.GetLsp()
	}
	if r.Mark != nil {
		text += ", DSCP becomes " + document.DSCP(r.GetMark()).String()
	}
	switch {
	case r.GetClass() != "":
		return text + fmt.Sprintf(" (class %s)", r.GetClass())
	case r.GetCircuit() != "":
		return text + fmt.Sprintf(" (circuit %s)", r.GetCircuit())
	}
	return text + fmt.Sprintf(" (pair %s)", r.GetPair())
}

func matchText(r *policyv1.RedirectRule) string {
	var out []string
	add := func(word, value string) {
		if value != "" {
			out = append(out, word+" "+value)
		}
	}
	add("from", r.GetSrc())
	add("to", r.GetDst())
	var codes []string
	for _, d := range r.GetDscps() {
		codes = append(codes, document.DSCP(d).String())
	}
	add("DSCP", strings.Join(codes, "/"))
	add("", document.Protocol(r.GetProtocol()).String())
	add("from port", r.GetSourcePorts())
	add("to port", r.GetDestinationPorts())
	if len(out) == 0 {
		return "every packet"
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(out, " "), "  ", " "))
}
