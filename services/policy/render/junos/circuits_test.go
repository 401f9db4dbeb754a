package junos

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/yangtest"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// end is of circuit c-5 at a port of this router; the other one is at 10.255.0.2.
func end(at string, vlan int) func(*compile.RouterPlan) {
	return func(p *compile.RouterPlan) {
		p.LSPs = []compile.LSP{{Name: "te-circuit-c-5-0a1b2c", Destination: hop, Hops: []netip.Addr{hop}}}
		p.Attachments = append(p.Attachments, compile.Attachment{
			Circuit: "c-5", Name: "te-circuit-c-5", Port: at, VLAN: vlan, Number: 5, Queue: "alpha", LSP: "te-circuit-c-5-0a1b2c",
			Local: netip.MustParseAddr("198.18.0.10"), Remote: netip.MustParseAddr("198.18.0.11"),
		})
	}
}

func TestEachEndOfACircuitIsSaidInJunos(t *testing.T) {
	const circuit, frames = "protocols l2circuit neighbor 10.255.0.2 interface ", "firewall family ccc filter te-frames-alpha "
	var documents [][]byte
	for _, c := range []struct {
		name string
		plan compile.RouterPlan
		// want are statements that are there, less are beginnings of ones that are not.
		want, less []string
	}{
		{"a VLAN is a unit whose tag comes off, and on again", plan(end("xe-0/0/2", 100)), []string{
			"interfaces xe-0/0/2 flexible-vlan-tagging", "interfaces xe-0/0/2 encapsulation flexible-ethernet-services",
			"interfaces xe-0/0/2 unit 100 encapsulation vlan-ccc", "interfaces xe-0/0/2 unit 100 vlan-id 100",
			"interfaces xe-0/0/2 unit 100 input-vlan-map pop", "interfaces xe-0/0/2 unit 100 output-vlan-map push", "interfaces xe-0/0/2 unit 100 family ccc filter input te-frames-alpha",
		}, []string{"interfaces xe-0/0/2 unit 0"}},
		{"frames without a tag have the whole port", plan(end("xe-0/0/2", 0)), []string{
			"interfaces xe-0/0/2 encapsulation ethernet-ccc", "interfaces xe-0/0/2 unit 0 family ccc filter input te-frames-alpha", circuit + "xe-0/0/2.0 virtual-circuit-id 5",
		}, []string{"interfaces xe-0/0/2 flexible", "interfaces xe-0/0/2 unit 0 vlan", "interfaces xe-0/0/2 unit 0 input", "interfaces xe-0/0/2 unit 0 output", "interfaces xe-0/0/2 unit 0 encapsulation"}},
		{"unit 0 of a port is the port", plan(end("xe-0/0/2.0", 100)), []string{"interfaces xe-0/0/2 unit 100 vlan-id 100"}, []string{"interfaces xe-0/0/2.0"}},
		{"an L2 circuit says what nobody signals, and both ends say the same", plan(end("xe-0/0/2", 100)), []string{
			circuit + "xe-0/0/2.100 static incoming-label 1000005", circuit + "xe-0/0/2.100 static outgoing-label 1000005", circuit + "xe-0/0/2.100 static send-oam",
			circuit + "xe-0/0/2.100 virtual-circuit-id 5", circuit + "xe-0/0/2.100 control-word", circuit + "xe-0/0/2.100 encapsulation-type ethernet", circuit + "xe-0/0/2.100 description te-circuit-c-5",
		}, []string{"protocols ldp", circuit + "xe-0/0/2.100 mtu"}},
		{"only its LSP leads to its other end", plan(end("xe-0/0/2", 100)), []string{
			circuit + "xe-0/0/2.100 psn-tunnel-endpoint 198.18.0.11", "protocols mpls label-switched-path te-circuit-c-5-0a1b2c install 198.18.0.11/32",
			"protocols mpls label-switched-path te-circuit-c-5-0a1b2c no-install-to-address", "protocols mpls label-switched-path te-circuit-c-5-0a1b2c to 10.255.0.2",
		}, []string{"routing-instances", "policy-options"}},
		{"frames that enter are in the circuits' queue", plan(end("xe-0/0/2", 100)), []string{
			frames + "term frames then forwarding-class te-alpha", frames + "term frames then accept",
		}, nil},
		{"labels say the class where they leave, and not at the circuit's port", plan(end("xe-0/0/2", 100), func(p *compile.RouterPlan) { p.Ports = append(p.Ports, compile.Port{Interface: "xe-0/0/2"}) }), []string{
			"class-of-service interfaces xe-0/0/1 unit 0 rewrite-rules exp te-p", "class-of-service rewrite-rules exp te-p forwarding-class te-alpha loss-priority low code-point 001",
			"class-of-service interfaces xe-0/0/2 scheduler-map te-p",
		}, []string{"class-of-service interfaces xe-0/0/2 unit"}},
		{"packets have no filter and no policer at the circuit's port", plan(end("xe-0/0/2", 100), func(p *compile.RouterPlan) {
			filter("edge", compile.Rule{Class: "lbe", Queue: "beta", Match: compile.Match{Src: src}})(p)
			policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Drop: true}}, "xe-0/0/2")(p)
			p.Filters[0].Interfaces = append(p.Filters[0].Interfaces, "xe-0/0/2")
		}), []string{"interfaces xe-0/0/2 unit 10 family inet filter input te-edge"}, []string{"interfaces xe-0/0/2 unit 0"}},
		{"on the way only labels are looked at", plan(filter("transit", compile.Rule{Circuit: "c-5", Queue: "alpha", Match: compile.Match{Src: src, Dst: dst}, Labelled: true})), []string{
			"class-of-service interfaces xe-0/0/2 unit 10 classifiers exp te-p", "class-of-service classifiers exp te-p forwarding-class te-alpha loss-priority low code-points 001",
		}, []string{"firewall", "policy-options", "interfaces", "class-of-service classifiers dscp"}},
		{"beside packets with addresses", plan(filter("transit",
			compile.Rule{Circuit: "c-5", Queue: "alpha", Match: compile.Match{Src: src, Dst: dst}, Labelled: true}, compile.Rule{Class: "lbe", Queue: "beta", Match: compile.Match{Src: src}})), []string{
			"firewall family inet filter te-transit term class-lbe then accept", "class-of-service interfaces xe-0/0/2 unit 10 classifiers exp te-p",
		}, []string{"firewall family inet filter te-transit term circuit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			readsBack(t, c.plan)
			lines, err := SetLines(c.plan)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(lines, "set groups te-managed "+want+"\n") {
					t.Errorf("no %q in\n%s", want, lines)
				}
			}
			for _, less := range c.less {
				if strings.Contains(lines, "set groups te-managed "+less) {
					t.Errorf("%q is in\n%s", less, lines)
				}
			}
		})
		raw, err := JSON(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, raw)
	}
	if out, err := yangtest.Lint(t, yangtest.Modules(t), documents...); err != nil {
		t.Errorf("yanglint: %v\n%s", err, out)
	}
}

func TestAnEndThatJunosCannotHaveIsRefused(t *testing.T) {
	for want, p := range map[string]compile.RouterPlan{
		"circuit c-5: xe-0/0/2.7 is a unit":                           plan(end("xe-0/0/2.7", 100)),
		`circuit c-5: the plan has no LSP "te-circuit-c-5-0a1b2c"`:    plan(end("xe-0/0/2", 100), func(p *compile.RouterPlan) { p.LSPs = nil }),
		"queue gone: the plan has no such queue":                      plan(end("xe-0/0/2", 100), func(p *compile.RouterPlan) { p.Attachments[0].Queue = "gone" }),
		`static incoming-label: "1048576" is not 1000000 to 1048575`:  plan(end("xe-0/0/2", 100), func(p *compile.RouterPlan) { p.Attachments[0].Number = 48576 }),
		"with ethernet-ccc the port has unit 0 and no other":          plan(end("xe-0/0/2", 100), end("xe-0/0/2", 0)),
		"static incoming-label: 1000005 is that of xe-0/0/2.100, too": plan(end("xe-0/0/2", 100), end("xe-0/0/2", 101)),
	} {
		if _, err := Text(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
