package policy

import (
	"net/netip"
	"slices"

	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Request is what the API is asked about a compiled policy.
type Request struct {
	// Router leaves out all plans but its own; empty: none.
	Router string
	// Syntax fills in the plans' text; empty: none.
	Syntax string
	// Inventory has the operating systems of the routers.
	Inventory *device.Inventory
}

// Response is the API's answer about a compiled policy.
func (r Renderers) Response(result compile.Result, req Request) (*policyv1.PlanResponse, error) {
	text, err := r.text(req.Syntax)
	if err != nil {
		return nil, err
	}
	out := &policyv1.PlanResponse{}
	for _, plan := range result.Plans {
		if req.Router != "" && plan.Router != req.Router {
			continue
		}
		m := planToProto(plan)
		renderer, err := r.of(req.Inventory, plan.Router)
		if err != nil {
			return nil, err
		}
		if m.Entries, err = renderer.entries(plan); err != nil {
			return nil, err // it names the router
		}
		if text != nil {
			if m.Rendered, err = text(plan); err != nil {
				return nil, err
			}
		}
		out.Plans = append(out.Plans, m)
	}
	for _, s := range result.Skipped {
		out.Skipped = append(out.Skipped, &policyv1.SkippedPair{Pair: s.Pair, Reason: s.Why})
	}
	for _, s := range result.Ignored {
		split := &policyv1.PortSplit{Router: s.Router, Interface: s.Interface, Beta: uint32(s.Beta)}
		out.RefusedSplits = append(out.RefusedSplits, &policyv1.RefusedSplit{Split: split, Reason: s.Why})
	}
	out.Circuits = result.Circuits
	for _, c := range result.Refused {
		out.RefusedCircuits = append(out.RefusedCircuits, &policyv1.RefusedCircuit{Circuit: c.Circuit, Reason: c.Why})
	}
	return out, nil
}

func splitToProto(s *document.Split) *policyv1.Split {
	out := &policyv1.Split{Alpha: s.Alpha, Beta: s.Beta, Min: uint32(s.Min), Max: uint32(s.Max), Follow: s.Follow.String()}
	for _, e := range s.Except {
		out.Except = append(out.Except, &policyv1.PortFollow{Router: e.Router, Interface: e.Interface, Follow: e.Follow.String()})
	}
	return out
}

func planToProto(p compile.RouterPlan) *policyv1.RouterPlan {
	out := &policyv1.RouterPlan{
		Router: p.Router, Reasons: p.Reasons, Policy: p.Policy, BufferTime: uint64(p.BufferTime),
		Scheduling: &policyv1.Scheduling{Excess: p.Scheduling.Excess.String(), Partition: p.Scheduling.Partition.String()},
	}
	for _, q := range p.Queues {
		out.Queues = append(out.Queues, queueToProto(q))
	}
	for _, port := range p.Ports {
		at := &policyv1.PortScheduling{Interface: port.Interface, Speed: uint64(port.Speed), Split: uint32(port.Split)}
		for _, q := range port.Queues {
			at.Queues = append(at.Queues, queueToProto(q))
		}
		out.Ports = append(out.Ports, at)
	}
	for _, l := range p.LSPs {
		m := &policyv1.Lsp{Name: l.Name, Destination: l.Destination.String(), Reason: l.Reason}
		for _, hop := range l.Hops {
			m.Hops = append(m.Hops, hop.String())
		}
		for _, hop := range l.Adjacencies {
			m.Adjacencies = append(m.Adjacencies, hop.String())
		}
		out.Lsps = append(out.Lsps, m)
	}
	for _, s := range p.Sets {
		m := &policyv1.LspSet{Name: s.Name}
		for _, l := range s.Members {
			m.Lsps = append(m.Lsps, &policyv1.LspShare{Lsp: l.LSP, Weight: uint32(l.Weight)})
		}
		out.LspSets = append(out.LspSets, m)
	}
	filtersToProto(p.Filters, out)
	for _, o := range p.Policers {
		out.Policers = append(out.Policers, policerToProto(o))
	}
	for _, o := range p.Profiles {
		out.Profiles = append(out.Profiles, &policyv1.Profile{Circuit: o.Circuit, Rate: uint64(o.Rate), Burst: uint64(o.Burst), Exceed: actionToProto(o.Exceed)})
	}
	for _, a := range p.Attachments {
		out.Attachments = append(out.Attachments, &policyv1.Attachment{
			Circuit: a.Circuit, Name: a.Name, End: a.End, Port: a.Port, Vlan: uint32(a.VLAN), Number: a.Number,
			Local: a.Local.String(), Remote: a.Remote.String(), Queue: a.Queue, Lsp: a.LSP,
		})
	}
	return out
}

func queueToProto(q document.Queue) *policyv1.Queue {
	out := &policyv1.Queue{
		Name: q.Name, Id: uint32(q.ID), Weight: uint32(q.Weight), Buffer: uint32(q.Buffer),
		Priority: uint32(q.Priority), Default: q.Default, MaxRate: uint32(q.MaxRate),
	}
	profiles := q.WRED
	if q.RED != nil {
		profiles = []document.DropProfile{*q.RED}
	}
	for _, c := range profiles {
		out.DropProfiles = append(out.DropProfiles, &policyv1.DropProfile{
			LossPriority: c.LossPriority.String(), Min: uint32(c.Min), Max: uint32(c.Max), Probability: uint32(c.Probability), Ecn: c.ECN,
		})
	}
	return out
}

// filtersToProto gives the filters one by one, and their interfaces joined for clients of the first version.
func filtersToProto(filters []compile.Filter, out *policyv1.RouterPlan) {
	for _, f := range filters {
		out.Filters = append(out.Filters, &policyv1.Filter{Name: f.Name, Interfaces: f.Interfaces})
		out.RuleInterfaces = append(out.RuleInterfaces, f.Interfaces...)
		for _, r := range f.Rules {
			out.Rules = append(out.Rules, ruleToProto(f.Name, r))
		}
	}
	slices.Sort(out.RuleInterfaces)
}

func ruleToProto(filter string, r compile.Rule) *policyv1.RedirectRule {
	out := &policyv1.RedirectRule{
		Sequence: r.Sequence, Filter: filter, Pair: r.Pair, Class: r.Class, Circuit: r.Circuit, Queue: r.Queue, Lsp: r.LSP, Mark: codePoint(r.Mark), Profiled: r.Profiled,
		Src: prefixText(r.Match.Src), Dst: prefixText(r.Match.Dst), Protocol: uint32(r.Match.Protocol),
		SourcePorts: portsText(r.Match.SrcPort), DestinationPorts: portsText(r.Match.DstPort),
	}
	for _, d := range r.Match.DSCPs {
		out.Dscps = append(out.Dscps, uint32(d))
	}
	return out
}

func policerToProto(o compile.Policer) *policyv1.Policer {
	return &policyv1.Policer{
		Name: o.Name, Queue: o.Queue, Rate: uint64(o.Rate), Burst: uint64(o.Burst), PeakRate: uint64(o.PeakRate), PeakBurst: uint64(o.PeakBurst),
		Exceed: actionToProto(o.Exceed), Violate: actionToProto(o.Violate), Interfaces: o.Interfaces,
	}
}

// actionToProto leaves out an action that is none.
func actionToProto(a document.Action) *policyv1.Action {
	if a == (document.Action{}) {
		return nil
	}
	return &policyv1.Action{Drop: a.Drop, Mark: codePoint(a.Mark), LossPriority: a.LossPriority.String(), Queue: a.Queue}
}

func codePoint(d *document.DSCP) *uint32 {
	if d == nil {
		return nil
	}
	v := uint32(*d)
	return &v
}

func prefixText(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

func portsText(p *document.PortRange) string {
	if p == nil {
		return ""
	}
	return p.String()
}
