package predict

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/twin/discipline"
)

// constructs are all fields that a plan can have, and how the simulator models each.
var constructs = map[string]string{
	"Router": "whose plan it is", "Policy": "for people", "Reasons": "for people",
	"BufferTime":           "queues: the limit is a share of the buffer at the port's rate",
	"Scheduling.Excess":    "queues: Config.Excess",
	"Scheduling.Partition": "queues: strict makes the weight the ceiling",
	"Queues.Name":          "queues: its name", "Queues.ID": "the number of hardware's queue: the twin has no hardware",
	"Queues.Weight": "queues: Weight", "Queues.Buffer": "queues: Limit", "Queues.Priority": "queues: Priority", "Queues.MaxRate": "queues: Max",
	"Queues.Default":          "where packets of no rule wait",
	"Queues.RED.LossPriority": "no part of RED",
	"Queues.RED.Min":          "queues: RED", "Queues.RED.Max": "queues: RED", "Queues.RED.Probability": "queues: RED",
	"Queues.RED.ECN":           "refused",
	"Queues.WRED.LossPriority": "queues: the colour", "Queues.WRED.Min": "queues: its drop profile", "Queues.WRED.Max": "queues: its drop profile",
	"Queues.WRED.Probability": "queues: its drop profile", "Queues.WRED.ECN": "no part of WRED: the document's check says so",
	"Ports.Interface": "which ports have queues", "Ports.Speed": "the scenario's rate, from which it was compiled",
	"Ports.Split": "for people: Queues has it", "Ports.Queues.Name": "as Queues", "Ports.Queues.ID": "as Queues", "Ports.Queues.Weight": "as Queues",
	"Ports.Queues.Buffer": "as Queues", "Ports.Queues.Priority": "as Queues", "Ports.Queues.MaxRate": "as Queues", "Ports.Queues.Default": "as Queues",
	"Ports.Queues.RED.LossPriority": "as Queues", "Ports.Queues.RED.Min": "as Queues", "Ports.Queues.RED.Max": "as Queues",
	"Ports.Queues.RED.Probability": "as Queues", "Ports.Queues.RED.ECN": "as Queues, which have the same drop profiles",
	"Ports.Queues.WRED.LossPriority": "as Queues", "Ports.Queues.WRED.Min": "as Queues", "Ports.Queues.WRED.Max": "as Queues",
	"Ports.Queues.WRED.Probability": "as Queues", "Ports.Queues.WRED.ECN": "as Queues",
	"LSPs.Name": "what rules call it", "LSPs.Destination": "the last of Hops", "LSPs.Hops": "the way; refused where no router is at it", "LSPs.Adjacencies": "links of the way",
	"Sets.Name": "what rules call it", "Sets.Members.LSP": "one of them per flow", "Sets.Members.Weight": "its share of the flows", "LSPs.Reason": "for people",
	"Filters.Name": "for people", "Filters.Interfaces": "where packets are looked at",
	"Filters.Rules.Sequence": "the order of the list", "Filters.Rules.Pair": "for people", "Filters.Rules.Class": "for people", "Filters.Rules.Circuit": "for people",
	"Filters.Rules.Match.Src": "matches", "Filters.Rules.Match.Dst": "matches", "Filters.Rules.Match.DSCPs": "matches", "Filters.Rules.Match.Protocol": "matches",
	"Filters.Rules.Match.SrcPort.First": "matches", "Filters.Rules.Match.SrcPort.Last": "matches",
	"Filters.Rules.Match.DstPort.First": "matches", "Filters.Rules.Match.DstPort.Last": "matches",
	"Filters.Rules.Queue": "where the packet waits", "Filters.Rules.LSP": "its way", "Filters.Rules.Mark": "Hop.Mark",
	"Filters.Rules.Profiled": "which packets a profile counts; one that does more is refused",
	"Filters.Rules.Labelled": "as Attachments.Port",
	"Attachments.Circuit":    "for people", "Attachments.Name": "for people", "Attachments.End": "for people", "Attachments.Port": "no host of the twin has a VLAN: its packets are in no circuit between ports",
	"Attachments.VLAN": "as Port", "Attachments.Number": "as Port", "Attachments.Local": "as Port", "Attachments.Remote": "as Port",
	"Attachments.Queue": "as Port", "Attachments.LSP": "as Port",
	"Profiles.Circuit": "for people", "Profiles.Rate": "counts only, or refused", "Profiles.Burst": "counts only, or refused",
	"Profiles.Exceed.Drop": "refused", "Profiles.Exceed.Mark": "refused", "Profiles.Exceed.LossPriority": "refused", "Profiles.Exceed.Queue": "refused",
	"Policers.Policer.Name": "for people", "Policers.Policer.Queue": "which flows pass it; refused where two share a queue and an interface",
	"Policers.Policer.At": "compiled to Interfaces", "Policers.Interfaces": "where",
	"Policers.Policer.Rate": "policer", "Policers.Policer.Burst": "policer", "Policers.Policer.PeakRate": "policer", "Policers.Policer.PeakBurst": "policer",
	"Policers.Policer.Exceed.Drop": "action", "Policers.Policer.Exceed.Mark": "action", "Policers.Policer.Exceed.LossPriority": "action", "Policers.Policer.Exceed.Queue": "action",
	"Policers.Policer.Violate.Drop": "action", "Policers.Policer.Violate.Mark": "action", "Policers.Policer.Violate.LossPriority": "action", "Policers.Policer.Violate.Queue": "action",
}

// leaves lists the fields of a plan's types down to what is no struct of the product's.
func leaves(t reflect.Type, path string, out map[string]bool) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "/services/policy/") {
		out[path] = true
		return
	}
	for i := range t.NumField() {
		name := t.Field(i).Name
		if path != "" {
			name = path + "." + name
		}
		leaves(t.Field(i).Type, name, out)
	}
}

// A construct that is new to plans has to be simulated or refused before this passes.
func TestWhatAPlanCanSayIsSimulatedOrRefused(t *testing.T) {
	got := map[string]bool{}
	leaves(reflect.TypeFor[compile.RouterPlan](), "", got)
	known := map[string]bool{}
	for name := range constructs {
		known[name] = true
	}
	if diff := cmp.Diff(known, got); diff != "" {
		t.Errorf("constructs of a plan (-listed here +in the types):\n%s", diff)
	}
}

// roundabout is three routers with a longer detour, so that every shipped policy has something to do.
const roundabout = `name: roundabout
routers:
  - {name: R1, agent: true}
  - {name: R2, agent: true}
  - {name: R3, agent: true}
hosts:
  - {name: H1, address: 10.1.1.2/24, gateway: 10.1.1.1}
  - {name: H2, address: 10.2.1.2/24, gateway: 10.2.1.1}
links:
  - {a: "R1:ge-0", b: "R2:ge-0", rate: 100Mbit/s, delay: 1ms, cost: 10}
  - {a: "R1:ge-1", b: "R3:ge-0", rate: 100Mbit/s, delay: 1ms, cost: 10}
  - {a: "R3:ge-1", b: "R2:ge-1", rate: 100Mbit/s, delay: 1ms, cost: 10}
  - {a: "H1:eth0", b: "R1:ge-2", rate: 100Mbit/s}
  - {a: "H2:eth0", b: "R2:ge-2", rate: 100Mbit/s}
pairs:
  - {name: all, from: H1, to: H2}
phases:
  - name: one
    policy: {use: POLICY}
    applications:
      - {name: bulk, kind: tcp, from: H1, to: H2, port: 5001, stop: 2s}
      - {name: less, kind: udp, from: H1, to: H2, port: 5002, rate: 20Mbit/s, packet: 1000B, dscp: 8, stop: 2s}
`

// The nine shipped policies, each compiled for it: the simulator's ports have what the plans configure.
func TestShippedPoliciesAreSimulatedAsTheyArePlanned(t *testing.T) {
	names, err := fs.Glob(policies.Files, "*.yaml")
	if err != nil || len(names) != 9 {
		t.Fatalf("%d shipped policies (%v), want 9", len(names), err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, strings.TrimSuffix(name, ".yaml"))
			held, err := plans(s, s.Phases[0].Policy)
			if err != nil {
				t.Fatal(err)
			}
			b := newBuilder(t.Context(), s, held, 1)
			apps := b.applications(s.Phases[0])
			if b.err != nil {
				t.Fatal(b.err)
			}
			scheduled := 0
			for _, p := range held {
				for _, port := range p.Ports {
					scheduled++
					number := b.ports[scenario.Endpoint{Node: p.Router, Interface: port.Interface}]
					_, sched := b.net.Port(number)
					if sched == nil {
						t.Fatalf("%s:%s has no queues", p.Router, port.Interface)
					}
					asPlanned(t, p, sched.Config)
				}
			}
			if scheduled == 0 || len(apps) != 2 {
				t.Fatalf("%d ports scheduled, %d applications", scheduled, len(apps))
			}
			if r, err := Run(context.Background(), s, Options{Seed: 1}); err != nil || r.Ended.Arrived == 0 {
				t.Errorf("ran to %+v, error %v", r, err)
			}
		})
	}
}

func parsed(t *testing.T, policy string) *scenario.Scenario {
	s, err := scenario.Parse(filepath.Join(t.TempDir(), "scenario.yaml"), []byte(strings.Replace(roundabout, "POLICY", policy, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asPlanned holds a port against its plan, in words of its own.
func asPlanned(t *testing.T, plan compile.RouterPlan, got discipline.Config) {
	t.Helper()
	buffer := 100e6 / 8 * float64(plan.BufferTime) / 1e9
	for i, q := range plan.Queues {
		g := got.Queues[i]
		most := q.MaxRate
		if plan.Scheduling.Partition == document.Strict {
			most = q.Weight
		}
		room := int64(shares.Buffer(uint64(buffer * float64(q.Buffer) / 100)))
		if g.Name != q.Name || g.Weight != uint64(q.Weight) || g.Max != (shares.Limit{Percent: uint64(most)}) || g.Priority != uint8(q.Priority) || g.Limit != room {
			t.Errorf("%s: queue %+v of a plan that says %+v", plan.Router, g, q)
		}
		switch d := g.Discipline.(type) {
		case nil:
			if q.RED != nil || len(q.WRED) > 0 {
				t.Errorf("%s: queue %s lost its discipline", plan.Router, q.Name)
			}
		case discipline.RED:
			if q.RED == nil || d.Probability*100 != float64(q.RED.Probability) {
				t.Errorf("%s: queue %s has %+v, the plan %+v", plan.Router, q.Name, d, q.RED)
			}
		case discipline.WRED:
			if n := len(slices.DeleteFunc(slices.Clone(d[:]), func(p *discipline.DropProfile) bool { return p == nil })); n != len(q.WRED) {
				t.Errorf("%s: queue %s has %d profiles, the plan %d", plan.Router, q.Name, n, len(q.WRED))
			}
		}
	}
	if (got.Excess == shares.Equal) != (plan.Scheduling.Excess == document.ExcessEqual) {
		t.Errorf("%s: excess %v, the plan says %v", plan.Router, got.Excess, plan.Scheduling.Excess)
	}
}

func TestTheTwinHasEveryQueueDisciplineOfTheRouter(t *testing.T) {
	if diff := cmp.Diff(kernel.Disciplines(), discipline.Disciplines()); diff != "" {
		t.Errorf("queue disciplines (-services/routeragent/kernel +services/twin/discipline):\n%s", diff)
	}
}

func TestPlansThatAreRefusedSayWhy(t *testing.T) {
	s := parsed(t, "hntes-wred")
	held, err := plans(s, s.Phases[0].Policy)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(held, func(p compile.RouterPlan) bool { return len(p.LSPs) > 0 && len(p.Policers) > 0 })
	if at < 0 {
		t.Fatal("no plan with an LSP and a policer")
	}
	for _, c := range []struct {
		name   string
		change func(p *compile.RouterPlan)
		want   string
	}{
		{"ECN", func(p *compile.RouterPlan) {
			p.Queues[0].RED = &document.DropProfile{Max: 100, Probability: 10, ECN: true}
		}, "no ECN"},
		{"two policers in one place", func(p *compile.RouterPlan) {
			more := p.Policers[0]
			more.Name = "another"
			p.Policers = append(p.Policers, more)
		}, "both limit queue"},
		{"an LSP into the void", func(p *compile.RouterPlan) { p.LSPs[0].Hops = []netip.Addr{netip.MustParseAddr("192.0.2.1")} }, "192.0.2.1, which is no router"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := held[at]
			p.Queues, p.Policers, p.LSPs = slices.Clone(p.Queues), slices.Clone(p.Policers), slices.Clone(p.LSPs)
			c.change(&p)
			if err := simulable(s, p); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(fmt.Sprint(err), p.Router) {
				t.Errorf("got %v, want it to name router %s and say %q", err, p.Router, c.want)
			}
		})
	}
}

// Traffic of a circuit above its rate is not distinguished here, so a plan that treats it differently is
// refused.
func TestAProfileThatDoesSomethingIsRefused(t *testing.T) {
	for why, exceed := range map[string]document.Action{"": {}, "above its rate": {Drop: true}} {
		err := simulable(&scenario.Scenario{}, compile.RouterPlan{Router: "a", Profiles: []compile.Profile{{Circuit: "c", Rate: 1, Exceed: exceed}}})
		if (err != nil) != (why != "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v", exceed, err)
		}
	}
}
