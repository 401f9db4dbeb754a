// Package linux shows a router's plan as tc and ip commands: what
// services/routeragent makes of it on a router that held nothing before.
//
// In: a compile.RouterPlan. Out: text for people. Next: an operator who knows
// Linux better than OpenConfig; the agent itself obeys the OpenConfig entries, and
// a test holds both to the same numbers.
package linux

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Text renders a plan.
func Text(p compile.RouterPlan) (string, error) {
	w := &writer{plan: p, paths: map[string]int{}}
	w.line("# %s: what the router agent holds on a router that held nothing before. Numbers of classes and LSPs are the agent's to give.", p.Router)
	w.line("# Packets are classified, marked and policed by eBPF programs at tc ingress, which tc has no words for: those lines are comments.")
	for i, l := range p.LSPs {
		w.paths[l.Name] = i + 1
	}
	for i, s := range p.Sets {
		w.paths[s.Name] = len(p.LSPs) + i + 1
	}
	for _, port := range p.Ports {
		w.port(port)
	}
	for _, f := range p.Filters {
		w.filter(f)
	}
	for _, o := range p.Policers {
		w.policer(o)
	}
	for _, o := range p.Profiles {
		w.profile(o)
	}
	for _, l := range p.LSPs {
		w.lsp(l)
	}
	for _, s := range p.Sets {
		w.set(s)
	}
	for _, a := range p.Attachments {
		w.attachment(a)
	}
	return w.text.String(), nil
}

type writer struct {
	plan compile.RouterPlan
	// paths numbers the LSPs.
	paths map[string]int
	text  strings.Builder
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

func (w *writer) port(p compile.Port) {
	w.line("")
	if p.Speed == 0 {
		w.line("# %s: its speed is not known here; the agent shapes to the speed that the port reports", p.Interface)
		return
	}
	classes := classesOf(w.plan, p)
	byDefault := 0
	for _, c := range classes {
		if c.queue.Default {
			byDefault = c.number
		}
	}
	w.line("tc qdisc replace dev %s root handle 7e00: htb default 1%x", p.Interface, byDefault)
	w.line("tc class replace dev %s parent 7e00: classid 7e00:1 htb rate %dbit ceil %dbit", p.Interface, uint64(p.Speed), uint64(p.Speed))
	for _, c := range classes {
		w.line("tc class replace dev %s parent 7e00:1 classid 7e00:1%x htb rate %dbit ceil %dbit prio %d quantum %d  # te-%s",
			p.Interface, c.number, c.Rate, c.Ceil, c.Priority, c.Quantum, c.queue.Name)
		w.line("tc qdisc replace dev %s parent 7e00:1%x handle %s", p.Interface, c.number, leaf(c))
	}
}

// leaf is the qdisc under a class: each kind has handles of its own, for the kernel never changes a qdisc's kind.
func leaf(c class) string {
	q := c.queue
	switch {
	case q.RED != nil:
		text := fmt.Sprintf("7e%x: red limit %d min %d max %d probability %.2f", 0x50+c.number, c.buffer,
			c.buffer*uint64(q.RED.Min)/100, c.buffer*uint64(q.RED.Max)/100, float64(q.RED.Probability)/100)
		if q.RED.ECN {
			text += " ecn"
		}
		return text + "  # " + dropText("all packets", *q.RED)
	case len(q.WRED) > 0:
		var profiles []string
		for _, c := range q.WRED {
			profiles = append(profiles, dropText("loss priority "+c.LossPriority.String(), c))
		}
		return fmt.Sprintf("7e%x: gred setup DPs 4 default 0 limit %d  # %s", 0x90+c.number, c.buffer, strings.Join(profiles, "; "))
	}
	return fmt.Sprintf("7e%x: bfifo limit %d", 0x10+c.number, c.buffer)
}

func dropText(of string, c document.DropProfile) string {
	return fmt.Sprintf("of %s %d %% dropped at %d %% full, none below %d %%", of, c.Probability, c.Max, c.Min)
}

func (w *writer) filter(f compile.Filter) {
	w.line("")
	w.line("# te-%s on %s, ingress:", f.Name, strings.Join(f.Interfaces, ", "))
	for _, r := range f.Rules {
		text := "queue te-" + r.Queue
		if r.LSP != "" {
			text += ", LSP " + r.LSP
		}
		if r.Mark != nil {
			text += ", DSCP becomes " + r.Mark.String()
		}
		if r.Profiled {
			text += ", profile of circuit " + r.Circuit
		}
		w.line("#   %d %s: %s; mark %#08x", r.Sequence, matchText(r.Match), text, uint32(w.number(r.Queue))<<28|uint32(w.paths[r.LSP])<<16)
	}
}

func matchText(m compile.Match) string {
	var out []string
	add := func(word string, v any, given bool) {
		if given {
			out = append(out, fmt.Sprintf("%s %v", word, v))
		}
	}
	add("from", m.Src, m.Src.IsValid())
	add("to", m.Dst, m.Dst.IsValid())
	add("dscp", m.DSCPs, len(m.DSCPs) > 0)
	add("protocol", m.Protocol, m.Protocol != 0)
	add("source port", m.SrcPort, m.SrcPort != nil)
	add("destination port", m.DstPort, m.DstPort != nil)
	if len(out) == 0 {
		return "every packet"
	}
	return strings.Join(out, " ")
}

func (w *writer) policer(o compile.Policer) {
	w.line("")
	w.line("# policer %s on each of %s: queue te-%s, %s with bursts of %s; above it %s", o.Name, strings.Join(o.Interfaces, ", "), o.Queue, o.Rate, o.Burst, actionText(o.Exceed))
	if o.PeakRate > 0 {
		w.line("#   above %s with bursts of %s %s", o.PeakRate, o.PeakBurst, actionText(o.Violate))
	}
}

func (w *writer) profile(o compile.Profile) {
	w.line("")
	w.line("# profile of circuit %s, whatever the interface: %s with bursts of %s; above it %s", o.Circuit, o.Rate, o.Burst, cmp.Or(actionText(o.Exceed), "counted only"))
}

func actionText(a document.Action) string {
	var out []string
	if a.Drop {
		out = append(out, "dropped")
	}
	if a.Queue != "" {
		out = append(out, "to queue te-"+a.Queue)
	}
	if a.LossPriority != document.LossUnset {
		out = append(out, "loss priority "+a.LossPriority.String())
	}
	if a.Mark != nil {
		out = append(out, "DSCP becomes "+a.Mark.String())
	}
	return strings.Join(out, ", ")
}

func (w *writer) lsp(l compile.LSP) {
	n := w.paths[l.Name]
	var hops []string
	for _, hop := range l.Hops {
		text := hop.String()
		if l.Link(hop) {
			text = "the link to " + text
		}
		hops = append(hops, text)
	}
	w.line("")
	w.line("# %s: FRR SR policy colour %d to %s by the SIDs of %s", l.Name, n, l.Destination, strings.Join(hops, ", "))
	w.line("ip rule add pref %d fwmark %#08x/0x0fff0000 lookup %d", 20000+n, n<<16, 20000+n)
}

// set is in the eBPF program's buckets; each LSP of it has its own rule above.
func (w *writer) set(s compile.Set) {
	var each []string
	for _, m := range s.Members {
		each = append(each, fmt.Sprintf("%s (mark %#08x) weight %d", m.LSP, w.paths[m.LSP]<<16, m.Weight))
	}
	w.line("")
	w.line("# %s: flows by addresses, protocol and ports to %s", s.Name, strings.Join(each, ", "))
}

// attachment is an end of a circuit between ports, which the agent's programs are for.
func (w *writer) attachment(a compile.Attachment) {
	frames := "frames without a tag"
	if a.VLAN != 0 {
		frames = fmt.Sprintf("frames of VLAN %d", a.VLAN)
	}
	w.line("")
	w.line("# %s: %s of %s, queue te-%s, LSP %s; VXLAN %d from %s to %s; mark %#08x", a.Name, frames, a.Port, a.Queue, a.LSP, a.Number, a.Local, a.Remote,
		uint32(w.number(a.Queue))<<28|uint32(w.paths[a.LSP])<<16)
	w.line("ip link add te-circuits mtu 65000 type vxlan external dstport 4789; ip link set te-circuits up")
	w.line("ip addr add %s/32 dev te-circuits", a.Local)
}
