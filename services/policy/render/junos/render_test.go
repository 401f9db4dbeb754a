package junos

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/internal/testkit/yangtest"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// plan is two queues on one port, as paper 002 has them.
func plan(edit ...func(*compile.RouterPlan)) compile.RouterPlan {
	p := compile.RouterPlan{
		Router: "r1", Policy: "p", BufferTime: document.Duration(100 * time.Millisecond),
		Queues: []document.Queue{
			{Name: "alpha", ID: 1, Weight: 95, Buffer: 95, Priority: 2},
			{Name: "beta", ID: 0, Weight: 5, Buffer: 5, Priority: 2, Default: true},
		},
		Ports: []compile.Port{{Interface: "xe-0/0/1.0"}},
	}
	for _, e := range edit {
		e(&p)
	}
	return p
}

func alpha(edit func(*document.Queue)) func(*compile.RouterPlan) {
	return func(p *compile.RouterPlan) { edit(&p.Queues[0]) }
}

func beta(edit func(*document.Queue)) func(*compile.RouterPlan) {
	return func(p *compile.RouterPlan) { edit(&p.Queues[1]) }
}

func scheduling(s document.Scheduling) func(*compile.RouterPlan) {
	return func(p *compile.RouterPlan) { p.Scheduling = s }
}

func filter(name string, rules ...compile.Rule) func(*compile.RouterPlan) {
	return func(p *compile.RouterPlan) {
		for i := range rules {
			rules[i].Sequence = uint32(i+1) * 10
		}
		p.Filters = append(p.Filters, compile.Filter{Name: name, Interfaces: []string{"xe-0/0/2.10"}, Rules: rules})
	}
}

func policerOf(o document.Policer, on ...string) func(*compile.RouterPlan) {
	return func(p *compile.RouterPlan) {
		o.Name, o.Rate, o.Burst = "lim", 1e9, 31_000
		p.Policers = append(p.Policers, compile.Policer{Policer: o, Interfaces: append(on, "xe-0/0/2.10")})
	}
}

func three(o document.Policer) document.Policer {
	o.PeakRate, o.PeakBurst = 2*units.Rate(1e9), 62_500
	return o
}

// wred gives a queue drop profiles.
func wred(q *document.Queue) { q.WRED = []document.DropProfile{{Min: 1, Max: 2, Probability: 3}} }

func ptr[T any](v T) *T { return &v }

var (
	src  = netip.MustParsePrefix("192.0.2.0/24")
	dst  = netip.MustParsePrefix("198.51.100.0/24")
	dst6 = netip.MustParsePrefix("2001:db8::/32")
	hop  = netip.MustParseAddr("10.255.0.2")
)

func lsp(p *compile.RouterPlan) {
	p.LSPs = []compile.LSP{{Name: "te-l", Destination: hop, Hops: []netip.Addr{netip.MustParseAddr("10.255.0.3"), hop}}}
}

func TestEachFieldIsSaidInJunos(t *testing.T) {
	const cos, fw = "class-of-service ", "firewall family inet filter "
	lbe := compile.Rule{Class: "lbe", Queue: "beta", Match: compile.Match{DSCPs: []document.DSCP{8, 1}}}
	var documents [][]byte
	alphaPair := compile.Rule{Pair: "7", Queue: "alpha", LSP: "te-l", Match: compile.Match{Src: src, Dst: dst}}
	for _, c := range []struct {
		name string
		plan compile.RouterPlan
		// want are statements that are there, less are beginnings of ones that are not.
		want, less []string
	}{
		{"a queue is a class, a scheduler and a line of the map", plan(), []string{
			cos + "forwarding-classes class te-alpha queue-num 1", cos + "scheduler-maps te-p forwarding-class te-alpha scheduler te-p-alpha",
			cos + "schedulers te-p-alpha transmit-rate percent 95", cos + "schedulers te-p-alpha buffer-size percent 95",
			cos + "schedulers te-p-alpha priority medium-high", cos + "interfaces xe-0/0/1 scheduler-map te-p",
		}, []string{cos + "schedulers te-p-alpha excess", cos + "schedulers te-p-alpha shaping", cos + "schedulers te-p-alpha transmit-rate exact"}},
		{"routing protocols keep a queue", plan(), []string{cos + "scheduler-maps te-p forwarding-class network-control scheduler te-control", cos + "schedulers te-control priority strict-high"}, nil},
		{"unless the policy has that queue", plan(alpha(func(q *document.Queue) { q.ID = 3 })), nil, []string{cos + "schedulers te-control"}},
		{"a unit that is not 0 has its own map", plan(func(p *compile.RouterPlan) { p.Ports[0].Interface = "xe-0/0/1.10" }),
			[]string{cos + "interfaces xe-0/0/1 unit 10 scheduler-map te-p", "interfaces xe-0/0/1 per-unit-scheduler"}, []string{cos + "interfaces xe-0/0/1 scheduler-map"}},
		{"a weight of 0 has no transmit-rate and a share of the excess", plan(alpha(func(q *document.Queue) { q.Weight = 0 }), beta(func(q *document.Queue) { q.Priority = 4 })),
			[]string{cos + "schedulers te-p-alpha excess-rate percent 1", cos + "schedulers te-p-beta excess-rate percent 5", cos + "schedulers te-p-alpha excess-priority high", cos + "schedulers te-p-beta excess-priority low"},
			[]string{cos + "schedulers te-p-alpha transmit-rate"}},
		{"equal excess", plan(scheduling(document.Scheduling{Excess: document.ExcessEqual})),
			[]string{cos + "schedulers te-p-alpha excess-rate percent 50", cos + "schedulers te-p-beta excess-rate percent 50"}, nil},
		{"a strict partition", plan(scheduling(document.Scheduling{Partition: document.Strict})),
			[]string{cos + "schedulers te-p-alpha transmit-rate exact"}, []string{cos + "schedulers te-p-alpha excess"}},
		{"a most that a queue may use", plan(alpha(func(q *document.Queue) { q.MaxRate = 97 })), []string{cos + "schedulers te-p-alpha shaping-rate percent 97"}, nil},
		{"a strict-high queue has no excess", plan(alpha(func(q *document.Queue) { q.Priority = 0 }), scheduling(document.Scheduling{Excess: document.ExcessEqual})),
			[]string{cos + "schedulers te-p-alpha priority strict-high", cos + "schedulers te-control priority high"}, []string{cos + "schedulers te-p-alpha excess"}},
		{"another buffer time is time at the queue's rate", plan(func(p *compile.RouterPlan) { p.BufferTime = document.Duration(50 * time.Millisecond) }),
			[]string{cos + "schedulers te-p-alpha buffer-size temporal 50000"}, []string{cos + "schedulers te-p-alpha buffer-size percent"}},
		{"RED", plan(alpha(func(q *document.Queue) { q.RED = &document.DropProfile{Min: 20, Max: 80, Probability: 10, ECN: true} })), []string{
			cos + "drop-profiles te-p-alpha interpolate fill-level [ 20 80 81 ]", cos + "drop-profiles te-p-alpha interpolate drop-probability [ 0 10 100 ]",
			cos + "schedulers te-p-alpha drop-profile-map loss-priority any protocol any drop-profile te-p-alpha", cos + "schedulers te-p-alpha explicit-congestion-notification",
		}, nil},
		{"WRED", plan(alpha(func(q *document.Queue) {
			q.WRED = []document.DropProfile{{LossPriority: document.LossHigh, Min: 0, Max: 100, Probability: 100}, {Min: 90, Max: 100, Probability: 50}}
		})), []string{
			cos + "drop-profiles te-p-alpha-high interpolate fill-level [ 0 100 ]", cos + "schedulers te-p-alpha drop-profile-map loss-priority high protocol any drop-profile te-p-alpha-high",
			cos + "drop-profiles te-p-alpha-low interpolate fill-level [ 90 99 100 ]", cos + "drop-profiles te-p-alpha-low interpolate drop-probability [ 0 45 100 ]",
		}, nil},
		{"DSCPs alone are a classifier", plan(filter("edge", lbe)), []string{
			cos + "interfaces xe-0/0/2 unit 10 classifiers dscp te-edge", cos + "interfaces xe-0/0/2 unit 10 classifiers dscp-ipv6 te-edge",
		}, []string{"firewall"}},
		{"DSCPs and a mark are a filter", plan(filter("edge", compile.Rule{Class: "lbe", Queue: "beta", Mark: ptr(document.DSCP(1)), Match: lbe.Match})), []string{
			fw + "te-edge term class-lbe from dscp [ 8 1 ]", fw + "te-edge term class-lbe then dscp 1", fw + "te-edge term class-lbe then accept", fw + "te-edge term class-lbe then forwarding-class te-beta",
			"firewall family inet6 filter te-edge term class-lbe from traffic-class [ 8 1 ]", "firewall family inet6 filter te-edge term class-lbe then traffic-class 1",
			fw + "te-edge term rest then forwarding-class te-beta", fw + "te-edge interface-specific", "interfaces xe-0/0/2 unit 10 family inet filter input te-edge",
		}, []string{cos + "classifiers"}},
		{"rules of one class, and a class named like the second of them", plan(filter("edge",
			compile.Rule{Class: "x", Queue: "alpha", Match: compile.Match{Src: src}}, compile.Rule{Class: "x", Queue: "alpha", Match: compile.Match{Dst: dst}}, compile.Rule{Class: "x-2", Queue: "beta", Match: compile.Match{Dst: src}})),
			[]string{
				fw + "te-edge term class-x from source-prefix-list te-192.0.2.0-24", fw + "te-edge term class-x-2 from destination-prefix-list te-198.51.100.0-24",
				fw + "te-edge term class-x-2-2 from destination-prefix-list te-192.0.2.0-24", fw + "te-edge term class-x-2-2 then forwarding-class te-beta",
			}, nil},
		{"ports", plan(filter("edge", compile.Rule{Class: "x", Queue: "alpha", Match: compile.Match{Protocol: document.TCP, SrcPort: &document.PortRange{First: 873, Last: 873}, DstPort: &document.PortRange{First: 6000, Last: 6063}}})), []string{
			fw + "te-edge term class-x from protocol tcp", fw + "te-edge term class-x from source-port 873", fw + "te-edge term class-x from destination-port 6000-6063", "firewall family inet6 filter te-edge term class-x from next-header tcp",
		}, nil},
		{"ports of any protocol are TCP's and UDP's", plan(filter("edge", compile.Rule{Class: "x", Queue: "alpha", Match: compile.Match{SrcPort: &document.PortRange{First: 1, Last: 1}}})),
			[]string{fw + "te-edge term class-x from protocol [ tcp udp ]"}, nil},
		{"prefixes are lists, and IPv6 its own family", plan(filter("edge", compile.Rule{Class: "x", Queue: "alpha", Match: compile.Match{Dst: dst6}})), []string{
			"policy-options prefix-list te-2001.db8..-32 2001:db8::/32", "firewall family inet6 filter te-edge term class-x from destination-prefix-list te-2001.db8..-32",
		}, []string{fw}},
		{"a rule for every packet ends the filter", plan(filter("edge", compile.Rule{Class: "x", Queue: "alpha", Mark: ptr(document.DSCP(8))})), nil, []string{fw + "te-edge term rest"}},
		{"a redirect is an LSP, an instance and a term", plan(lsp, filter("ingress", alphaPair)), []string{
			fw + "te-ingress term pair-7 then routing-instance te-l", fw + "te-ingress term pair-7 from source-prefix-list te-192.0.2.0-24",
			"protocols mpls label-switched-path te-l to 10.255.0.2", "protocols mpls label-switched-path te-l no-cspf", "protocols mpls label-switched-path te-l no-install-to-address", "protocols mpls label-switched-path te-l primary te-l",
			"protocols mpls path te-l 10.255.0.3 loose", "routing-instances te-l instance-type forwarding",
			"routing-instances te-l routing-options static route 198.51.100.0/24 lsp-next-hop te-l", "routing-instances te-l routing-options static route 0.0.0.0/0 next-table inet.0",
			"routing-options rib-groups te-redirect import-rib [ inet.0 te-l.inet.0 ]", "routing-options interface-routes rib-group inet te-redirect",
			cos + "interfaces xe-0/0/1 unit 0 rewrite-rules exp te-p", cos + "rewrite-rules exp te-p forwarding-class te-alpha loss-priority low code-point 001",
		}, []string{fw + "te-ingress term pair-7 then accept"}},
		{"where LSPs pass, labels tell the class", plan(filter("transit", compile.Rule{Pair: "7", Queue: "alpha", Match: alphaPair.Match})), []string{
			cos + "interfaces xe-0/0/2 unit 10 classifiers exp te-p", cos + "classifiers exp te-p forwarding-class te-alpha loss-priority low code-points 001", fw + "te-transit term pair-7 then accept",
		}, nil},
		{"a policer that drops", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Drop: true}})), []string{
			"firewall policer lim", "firewall policer te-lim if-exceeding bandwidth-limit 1g", "firewall policer te-lim if-exceeding burst-size-limit 31k", "firewall policer te-lim then discard", "firewall policer te-lim logical-interface-policer",
			fw + "te-edge term class-lbe then policer te-lim", fw + "te-edge term rest then policer te-lim", "firewall family inet6 filter te-edge term class-lbe then policer te-lim",
		}[1:], []string{cos + "classifiers"}},
		{"a policer that moves packets", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Queue: "alpha"}})), []string{
			"firewall policer te-lim then forwarding-class te-alpha", fw + "te-edge term queue-class-lbe from dscp [ 8 1 ]", fw + "te-edge term queue-class-lbe then forwarding-class te-beta", fw + "te-edge term queue-class-lbe then next term",
			fw + "te-edge term class-lbe from dscp [ 8 1 ]", fw + "te-edge term class-lbe then policer te-lim", fw + "te-edge term queue-rest then next term", fw + "te-edge term rest then policer te-lim",
		}, []string{fw + "te-edge term class-lbe then forwarding-class", fw + "te-edge term rest then forwarding-class"}},
		{"a policer that colours", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossMediumHigh}})), []string{"firewall policer te-lim then loss-priority medium-high"}, nil},
		{"a policer that marks colours, and the port rewrites", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Mark: ptr(document.DSCP(1))}})), []string{
			"firewall policer te-lim then loss-priority high", cos + "rewrite-rules dscp te-p forwarding-class te-beta loss-priority high code-point 000001",
			cos + "interfaces xe-0/0/1 unit 0 rewrite-rules dscp te-p", cos + "interfaces xe-0/0/1 unit 0 rewrite-rules dscp-ipv6 te-p",
		}, nil},
		{"a policer that moves packets and marks them", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Queue: "alpha", Mark: ptr(document.DSCP(1))}})), []string{
			"firewall policer te-lim then forwarding-class te-alpha", "firewall policer te-lim then loss-priority high", cos + "rewrite-rules dscp te-p forwarding-class te-alpha loss-priority high code-point 000001",
		}, []string{cos + "rewrite-rules dscp te-p forwarding-class te-beta"}},
		{"a policer that moves packets and colours them", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Queue: "alpha", LossPriority: document.LossMediumLow}})), []string{
			"firewall policer te-lim then forwarding-class te-alpha", "firewall policer te-lim then loss-priority medium-low",
		}, []string{cos + "rewrite-rules"}},
		{"a policer with all three, and WRED in the queue that it moves packets out of", plan(filter("edge", lbe), beta(wred), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Queue: "alpha", LossPriority: document.LossMediumLow, Mark: ptr(document.DSCP(1))}})), []string{
			"firewall policer te-lim then forwarding-class te-alpha", "firewall policer te-lim then loss-priority medium-low", cos + "rewrite-rules dscp te-p forwarding-class te-alpha loss-priority medium-low code-point 000001",
		}, []string{cos + "rewrite-rules dscp te-p forwarding-class te-beta"}},
		{"a colour that WRED is to act on, and a mark", plan(filter("edge", lbe), beta(wred), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossMediumLow, Mark: ptr(document.DSCP(1))}})), []string{
			"firewall policer te-lim then loss-priority medium-low", cos + "rewrite-rules dscp te-p forwarding-class te-beta loss-priority medium-low code-point 000001",
		}, nil},
		{"three colours, one of them marked", plan(filter("edge", lbe), policerOf(three(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossMediumHigh, Mark: ptr(document.DSCP(1))}, Violate: document.Action{LossPriority: document.LossHigh}}))), []string{
			cos + "rewrite-rules dscp te-p forwarding-class te-beta loss-priority medium-high code-point 000001",
		}, []string{cos + "rewrite-rules dscp te-p forwarding-class te-beta loss-priority high"}},
		{"three colours", plan(filter("edge", lbe), policerOf(three(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossMediumHigh}, Violate: document.Action{Drop: true}}))), []string{
			"firewall three-color-policer te-lim two-rate color-blind", "firewall three-color-policer te-lim two-rate committed-information-rate 1g", "firewall three-color-policer te-lim two-rate peak-burst-size 62500",
			"firewall three-color-policer te-lim action loss-priority high then discard", fw + "te-edge term class-lbe then three-color-policer two-rate te-lim",
		}, nil},
		{"interfaces with other policers have another filter", plan(func(p *compile.RouterPlan) {
			filter("edge", lbe)(p)
			p.Filters[0].Interfaces = append(p.Filters[0].Interfaces, "xe-0/0/9.0")
		}, policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Drop: true}})), []string{
			"interfaces xe-0/0/2 unit 10 family inet filter input te-edge-2", cos + "interfaces xe-0/0/9 unit 0 classifiers dscp te-edge-1",
		}, nil},
		{"an interface without rules is policed all the same", plan(policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Drop: true}})), []string{
			fw + "te-police term rest then policer te-lim", "interfaces xe-0/0/2 unit 10 family inet filter input te-police",
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, err := SetLines(c.plan)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := JSON(c.plan)
			if err != nil {
				t.Fatal(err)
			}
			documents = append(documents, raw)
			const group = "set groups te-managed "
			for _, want := range c.want {
				if !strings.Contains("\n"+lines, "\n"+group+want+"\n") {
					t.Errorf("no %q in\n%s", want, lines)
				}
			}
			for _, less := range c.less {
				if strings.Contains("\n"+lines, "\n"+group+less) {
					t.Errorf("%q is in\n%s", less, lines)
				}
			}
			readsBack(t, c.plan)
		})
	}
	if out, err := yangtest.Lint(t, yangtest.Modules(t), documents...); err != nil {
		t.Errorf("yanglint: %v\n%s", err, out)
	}
}

func readsBack(t *testing.T, p compile.RouterPlan) {
	t.Helper()
	text, err := Text(p)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := SetLines(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{text, lines} {
		tree, err := junosconf.Parse(form)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree.Text(), text); diff != "" {
			t.Errorf("(-read back +meant):\n%s", diff)
		}
	}
}

// TestTheLongestNamesFit: what a policy's reader lets pass is not refused when a split lengthens it.
func TestTheLongestNamesFit(t *testing.T) {
	readsBack(t, plan(
		alpha(func(q *document.Queue) { q.Name = strings.Repeat("q", document.MaxName) }),
		func(p *compile.RouterPlan) {
			p.Policy = strings.Repeat("p", document.MaxPolicyName)
			p.Ports[0].Split, p.Ports[0].Queues = 255, p.Queues
		},
	))
}

func TestWhatJunosCannotSayIsRefusedByField(t *testing.T) {
	rule := compile.Rule{Class: "x", Queue: "beta", Match: compile.Match{DSCPs: []document.DSCP{8}}}
	mark := document.Action{Mark: ptr(document.DSCP(1))}
	for _, c := range []struct {
		name string
		plan compile.RouterPlan
		want string
	}{
		{"a strict partition of nothing", plan(scheduling(document.Scheduling{Partition: document.Strict}), alpha(func(q *document.Queue) { q.Weight = 0 })), "queues.alpha.weight: a strict partition of 0 %"},
		{"a most below the partition", plan(scheduling(document.Scheduling{Partition: document.Strict}), alpha(func(q *document.Queue) { q.MaxRate = 10 })), "queues.alpha.max_rate: 10 % is below"},
		{"two strict-high queues", plan(alpha(func(q *document.Queue) { q.Priority = 0 }), beta(func(q *document.Queue) { q.Priority = 0 })), "queues.priority: Junos serves one strict-high queue per port, not 2"},
		{"a buffer in time for a queue without a rate", plan(func(p *compile.RouterPlan) { p.BufferTime, p.Queues[0].Weight = 1, 0 }), "buffer_time: Junos measures"},
		{"ECN by colour", plan(alpha(func(q *document.Queue) { q.WRED = []document.DropProfile{{Min: 1, Max: 2, Probability: 3, ECN: true}} })), "queues.alpha.wred.ecn: Junos marks all packets of a queue"},
		{"two policers for a packet", plan(filter("edge", rule), policerOf(document.Policer{Queue: "beta", Exceed: mark}), policerOf(document.Policer{Queue: "beta", Exceed: mark})), "policers.lim.queue: a packet has one policer on Junos"},
		{"a drop between the rates", plan(filter("edge", rule), policerOf(three(document.Policer{Queue: "beta", Exceed: document.Action{Drop: true}, Violate: document.Action{Drop: true}}))), "policers.lim.exceed.drop: Junos' three-color-policer lets"},
		{"another queue between the rates", plan(filter("edge", rule), policerOf(three(document.Policer{Queue: "beta", Exceed: document.Action{Queue: "alpha"}, Violate: document.Action{Drop: true}}))), "policers.lim.exceed.queue: Junos' three-color-policer moves no"},
		{"another colour than yellow", plan(filter("edge", rule), policerOf(three(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossHigh}, Violate: document.Action{Drop: true}}))), "policers.lim.exceed.loss_priority: Junos' three-color-policer gives medium-high"},
		{"a mark in a queue with WRED", plan(filter("edge", rule), beta(wred), policerOf(document.Policer{Queue: "beta", Exceed: mark})), "policers.lim.exceed.mark: Junos marks through a loss priority"},
		{"a mark in another queue with WRED", plan(filter("edge", rule), alpha(wred), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Queue: "alpha", Mark: mark.Mark}})), "policers.lim.exceed.mark: Junos marks through a loss priority"},
		{"a mark of the colour that packets have anyway", plan(filter("edge", rule), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossLow, Mark: mark.Mark}})), "policers.lim.exceed.loss_priority: Junos marks through a loss priority, and packets within the rate are low"},
		{"another colour than yellow, and a mark", plan(filter("edge", rule), policerOf(three(document.Policer{Queue: "beta", Exceed: document.Action{LossPriority: document.LossLow, Mark: mark.Mark}, Violate: document.Action{Drop: true}}))), "policers.lim.exceed.loss_priority: Junos' three-color-policer gives medium-high"},
		{"another colour than red, and a mark", plan(filter("edge", rule), policerOf(three(document.Policer{Queue: "beta", Exceed: mark, Violate: document.Action{LossPriority: document.LossLow, Mark: mark.Mark}}))), "policers.lim.violate.loss_priority: Junos' three-color-policer gives high"},
		{"a colour that another policer marks", plan(filter("edge", rule), policerOf(document.Policer{Queue: "beta", Exceed: mark}), func(p *compile.RouterPlan) {
			policerOf(document.Policer{Queue: "alpha", Exceed: document.Action{Queue: "beta", LossPriority: document.LossHigh}})(p)
			p.Policers[1].Name = "other"
		}), "policers.other.exceed.loss_priority: on Junos, another policer has packets of loss priority high in queue beta marked"},
		{"a mark and no port", plan(filter("edge", rule), policerOf(document.Policer{Queue: "beta", Exceed: mark}), func(p *compile.RouterPlan) { p.Ports = nil }), "policers.exceed.mark: Junos marks where packets leave"},
		{"an LSP to nowhere", plan(lsp, filter("ingress", compile.Rule{Pair: "7", Queue: "alpha", LSP: "te-l", Match: compile.Match{Src: src}})), "redirect.lsp: an LSP carries IPv4 to a prefix"},
		{"an LSP for IPv6", plan(lsp, filter("ingress", compile.Rule{Pair: "7", Queue: "alpha", LSP: "te-l", Match: compile.Match{Dst: dst6}})), "redirect.lsp: an LSP carries IPv4"},
		{"from IPv4 to IPv6", plan(filter("edge", compile.Rule{Class: "x", Queue: "alpha", Match: compile.Match{Src: src, Dst: dst6}})), "classes.match: rule 10 of edge goes from 192.0.2.0/24 to 2001:db8::/32, which no packet does"},
		{"an interface in two filters", plan(filter("edge", rule), filter("core", rule)), "classes: xe-0/0/2.10 is in filters edge and core"},
		{"a rate below Junos' least", plan(filter("edge", rule), func(p *compile.RouterPlan) {
			policerOf(document.Policer{Queue: "beta", Exceed: mark})(p)
			p.Policers[0].Rate = 5000
		}), `bandwidth-limit: "5k" is not 8000 to`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Text(c.plan)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "render the plan of r1 for Junos: ") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The classifier against the rules, read one by one for each DSCP.
func TestAClassifierDecidesLikeTheRules(t *testing.T) {
	rules := []compile.Rule{
		{Class: "a", Queue: "alpha", Match: compile.Match{DSCPs: []document.DSCP{46, 8}}},
		{Class: "b", Queue: "beta", Match: compile.Match{DSCPs: []document.DSCP{8, 1}}},
	}
	tree, err := Tree(plan(filter("edge", rules...)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	c := tree.View().Entry("groups", junosconf.Group).In("class-of-service", "classifiers").Entry("dscp", "te-edge")
	for _, class := range c.List("forwarding-class") {
		for _, code := range class.Entry("loss-priority", "low").Values("code-points") {
			got[code] = class.Key()
		}
	}
	for code, want := range map[string]string{"101110": "te-alpha", "001000": "te-alpha", "000001": "te-beta", "000000": "te-beta", "111000": "te-beta"} {
		if got[code] != want {
			t.Errorf("DSCP %s is in %s, want %s", code, got[code], want)
		}
	}
	if len(got) != 64 {
		t.Errorf("%d DSCPs are classified, want 64", len(got))
	}
}

// The drop probability of Junos' lines against the drop profile itself, at every fill.
func TestInterpolatedDropProfilesAreThePolicys(t *testing.T) {
	for low := 0; low <= 100; low += 5 {
		for high := low; high <= 100; high += 5 {
			for _, p := range []int{1, 10, 50, 100} {
				c := document.DropProfile{Min: uint8(low), Max: uint8(high), Probability: uint8(p)}
				line := points(c)
				for fill := 0; fill < 100; fill++ { // at 100 the queue is full and drops anyway
					got, want := at(line, float64(fill)), dropAt(c, float64(fill))
					if fill == high+1 || fill == high { // the step takes one percent of fill
						continue
					}
					if got-want > 1.01 || want-got > 1.01 {
						t.Fatalf("min %d max %d probability %d: %.1f at %d, want %.1f (%v)", low, high, p, got, fill, want, line)
					}
				}
			}
		}
	}
}

// dropAt is the definition in document.DropProfile.
func dropAt(c document.DropProfile, fill float64) float64 {
	low, high, p := float64(c.Min), float64(c.Max), float64(c.Probability)
	switch {
	case fill > high:
		return 100
	case fill <= low:
		return 0
	}
	return p * (fill - low) / (high - low)
}

// at interpolates as Junos does, from 0 at 0 to 100 at 100.
func at(line [][2]int, fill float64) float64 {
	line = append([][2]int{{0, 0}}, append(line, [2]int{100, 100})...)
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		if fill <= float64(b[0]) && a[0] < b[0] {
			return float64(a[1]) + float64(b[1]-a[1])*(fill-float64(a[0]))/float64(b[0]-a[0])
		}
	}
	return float64(line[len(line)-1][1])
}
