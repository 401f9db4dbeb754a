package lint

import (
	"strings"
	"testing"
)

// ends are a VLAN of a port and a whole port, each with its L2 circuit and its LSP.
const ends = `
groups te {
  firewall family ccc filter frames { term frames { then { forwarding-class te-a; accept; } } }
  interfaces {
    xe-0/0/2 {
      flexible-vlan-tagging;
      encapsulation flexible-ethernet-services;
      unit 100 { encapsulation vlan-ccc; vlan-id 100; input-vlan-map pop; output-vlan-map push; family ccc filter input frames; }
    }
    xe-0/0/3 { encapsulation ethernet-ccc; unit 0 family ccc filter input frames; }
  }
  protocols {
    l2circuit neighbor 10.255.0.4 {
      interface xe-0/0/2.100 { static { incoming-label 1000001; outgoing-label 1000001; } psn-tunnel-endpoint 198.18.0.3; virtual-circuit-id 1; }
      interface xe-0/0/3.0 { static { incoming-label 1000002; outgoing-label 1000002; } psn-tunnel-endpoint 198.18.0.5; virtual-circuit-id 2; }
    }
    mpls {
      label-switched-path l install 198.18.0.3/32;
      label-switched-path k { to 10.255.0.4; install 198.18.0.5/32; primary l; }
    }
  }
}
`

func TestSoundCircuitsHaveNoProblems(t *testing.T) {
	if got := Check(tree(t, ends)); len(got) > 0 {
		t.Errorf("problems: %v", got)
	}
}

func TestTheBoundsOfCircuitsAreWithinThem(t *testing.T) {
	const circuit = "set groups te protocols l2circuit neighbor 10.255.0.4 interface xe-0/0/2.100 "
	for _, change := range []string{
		"set groups te interfaces xe-0/0/2 unit 100 vlan-id 1", "set groups te interfaces xe-0/0/2 unit 100 vlan-id 4094",
		circuit + "static incoming-label 1000000", circuit + "static incoming-label 1048575", circuit + "static outgoing-label 16", circuit + "static outgoing-label 1048575",
	} {
		config := tree(t, ends)
		if err := config.Load(change); err != nil {
			t.Fatal(err)
		}
		if got := Check(config); len(got) > 0 {
			t.Errorf("%s: problems: %v", change, got)
		}
	}
}

func TestEachRuleFindsItsMistakeInACircuit(t *testing.T) {
	const (
		tagged  = "set groups te interfaces xe-0/0/2 "
		whole   = "set groups te interfaces xe-0/0/3 "
		circuit = "set groups te protocols l2circuit neighbor 10.255.0.4 interface xe-0/0/2.100 "
	)
	gone := func(line string) string { return strings.Replace(line, "set ", "delete ", 1) }
	for _, c := range []struct {
		name, change string
		rule         Rule
		want         string
	}{
		{"a filter that is not there", tagged + "unit 100 family ccc filter input x", Dangling, "family ccc filter input x: there is no filter"},
		{"a class that is not there", "set groups te firewall family ccc filter frames term frames then forwarding-class x", Dangling, "then forwarding-class x"},
		{"a filter that ends in discard", gone("set groups te firewall family ccc filter frames term frames then accept"), Action, "one of accept"},
		{"another unit beside a whole port", whole + "unit 7 vlan-id 7", VLAN, "unit 0 and no other, not 2 units"},
		{"another unit than 0 of a whole port", gone(whole+"unit 0") + "\n" + whole + "unit 1 family ccc filter input frames", VLAN, "unit 0 and no other, not 1 units"},
		{"a whole port with VLANs", whole + "flexible-vlan-tagging", VLAN, "has no VLANs"},
		{"a VLAN without tags", gone(tagged + "flexible-vlan-tagging"), VLAN, "vlan-ccc needs flexible-vlan-tagging"},
		{"a VLAN of another encapsulation", tagged + "encapsulation vlan-ccc", VLAN, "vlan-ccc needs flexible-vlan-tagging"},
		{"no VLAN", gone(tagged + "unit 100 vlan-id"), VLAN, `vlan-id "" is not 1 to 4094`},
		{"VLAN 0", tagged + "unit 100 vlan-id 0", VLAN, `vlan-id "0" is not 1 to 4094`},
		{"VLAN 4095", tagged + "unit 100 vlan-id 4095", VLAN, `vlan-id "4095" is not 1 to 4094`},
		{"a VLAN in two units", tagged + "unit 7 vlan-id 100", VLAN, "have VLAN 100"},
		{"IPv4 at a whole port", whole + "unit 0 family inet filter input f", VLAN, "no packets of its own"},
		{"IPv6 at a whole port", whole + "unit 0 family inet6 filter input f", VLAN, "no packets of its own"},
		{"a tag that comes off and never on", gone(tagged + "unit 100 output-vlan-map push"), VLAN, "put on again"},
		{"a unit that is not there", gone(tagged + "unit 100"), Dangling, "interface xe-0/0/2.100: there is no unit"},
		{"a unit that carries no circuits", gone(tagged + "unit 100 encapsulation"), Dangling, "interface xe-0/0/2.100: there is no unit"},
		{"a label of Junos' own", circuit + "static incoming-label 999999", Label, `"999999" is not 1000000 to 1048575`},
		{"no label", gone(circuit + "static incoming-label"), Label, `"" is not 1000000 to`},
		{"a reserved label", circuit + "static outgoing-label 15", Label, `"15" is not 16 to`},
		{"a label of 21 bits", circuit + "static outgoing-label 1048576", Label, `"1048576" is not 16 to 1048575`},
		{"a label in two circuits", circuit + "static incoming-label 1000002", Label, "1000002 is that of xe-0/0/2.100, too"},
		{"a number in two circuits", circuit + "virtual-circuit-id 2", Circuit, "2 is that of xe-0/0/2.100, too"},
		{"no number", gone(circuit + "virtual-circuit-id"), Circuit, `virtual-circuit-id "" is no number`},
		{"number 0", circuit + "virtual-circuit-id 0", Circuit, `virtual-circuit-id "0" is no number`},
		{"an end to which no LSP leads", circuit + "psn-tunnel-endpoint 198.18.0.9", Dangling, "198.18.0.9: no LSP installs this address"},
		{"an end to which two LSPs lead", "set groups te protocols mpls label-switched-path l install 198.18.0.5/32", Path, "198.18.0.5/32 is that of l, too"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := tree(t, ends)
			if err := config.Load(c.change); err != nil {
				t.Fatal(err)
			}
			for _, p := range Check(config) {
				if p.Rule == c.rule && strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("no %s problem with %q in %v", c.rule, c.want, Check(config))
		})
	}
}
