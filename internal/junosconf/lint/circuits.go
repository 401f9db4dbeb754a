package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/junosconf"
)

// Ranges of labels (reference of static at protocols l2circuit): those that Junos leaves to static configuration where
// packets arrive, and those that are no reserved ones where they leave.
const (
	minStatic, minLabel = 1_000_000, 16
	maxLabel            = 1_048_575
)

// ports checks that units and their port have encapsulations that go together.
func (l *linter) ports() {
	for _, i := range l.interfaces.List("interface") {
		where, whole, vlans := "interfaces "+i.Key(), i.Leaf("encapsulation") == "ethernet-ccc", map[string]string{}
		if units := i.List("unit"); whole && (len(units) != 1 || units[0].Key() != "0") {
			l.add(VLAN, where, "with ethernet-ccc the port has unit 0 and no other, not %d units", len(units))
		}
		if whole && i.Has("flexible-vlan-tagging") {
			l.add(VLAN, where, "a port with ethernet-ccc has no VLANs")
		}
		for _, u := range i.List("unit") {
			where, vlan := where+" unit "+u.Key(), u.Leaf("vlan-id")
			switch {
			case u.Leaf("encapsulation") == "vlan-ccc":
				l.tagged(where, i, u)
			case whole && (u.In("family", "inet").Exists() || u.In("family", "inet6").Exists()):
				l.add(VLAN, where, "a port with ethernet-ccc has no packets of its own")
			}
			if other, taken := vlans[vlan]; taken && vlan != "" {
				l.add(VLAN, where, "units %s and %s have VLAN %s", other, u.Key(), vlan)
			}
			vlans[vlan] = u.Key()
			if pops, pushes := u.In("input-vlan-map").Has("pop"), u.In("output-vlan-map").Has("push"); pops != pushes {
				l.add(VLAN, where, "a tag that is taken off on one way is put on again on the other one")
			}
		}
	}
}

// tagged checks a unit that is a VLAN's circuit.
func (l *linter) tagged(where string, port, unit junosconf.View) {
	if n, err := strconv.Atoi(unit.Leaf("vlan-id")); err != nil || n < 1 || n > 4094 {
		l.add(VLAN, where, "vlan-id %q is not 1 to 4094", unit.Leaf("vlan-id"))
	}
	if port.Leaf("encapsulation") != "flexible-ethernet-services" || !port.Has("flexible-vlan-tagging") {
		l.add(VLAN, where, "vlan-ccc needs flexible-vlan-tagging and encapsulation flexible-ethernet-services at the port")
	}
}

// circuits checks L2 circuits with static labels, each over an LSP of its own.
func (l *linter) circuits() {
	installed := l.installed()
	incoming := map[string]string{}
	for _, n := range l.l2circuit.List("neighbor") {
		numbers := map[string]string{}
		for _, i := range n.List("interface") {
			where := "protocols l2circuit neighbor " + n.Key() + " interface " + i.Key()
			l.end(where, i.Key())
			l.label(where+" static incoming-label", i.In("static").Leaf("incoming-label"), minStatic)
			l.label(where+" static outgoing-label", i.In("static").Leaf("outgoing-label"), minLabel)
			l.alone(Label, where+" static incoming-label", i.In("static").Leaf("incoming-label"), i.Key(), incoming)
			l.alone(Circuit, where+" virtual-circuit-id", i.Leaf("virtual-circuit-id"), i.Key(), numbers)
			if id, err := strconv.Atoi(i.Leaf("virtual-circuit-id")); err != nil || id < 1 {
				l.add(Circuit, where, "virtual-circuit-id %q is no number from 1", i.Leaf("virtual-circuit-id"))
			}
			if end := i.Leaf("psn-tunnel-endpoint"); !slices.Contains(installed, end+"/32") {
				l.add(Dangling, where+" psn-tunnel-endpoint "+end, "no LSP installs this address")
			}
		}
	}
}

// installed are the prefixes that LSPs lead to beside their ends; each is one LSP's.
func (l *linter) installed() (out []string) {
	by := map[string]string{}
	for _, lsp := range l.mpls.List("label-switched-path") {
		for _, prefix := range lsp.List("install") {
			l.alone(Path, "protocols mpls label-switched-path "+lsp.Key()+" install", prefix.Key(), lsp.Key(), by)
			out = append(out, prefix.Key())
		}
	}
	return out
}

// end checks that a unit is there and carries circuits.
func (l *linter) end(where, name string) {
	physical, unit, _ := strings.Cut(name, ".")
	port := l.interfaces.Entry("interface", physical)
	if port.Leaf("encapsulation") != "ethernet-ccc" && port.Entry("unit", unit).Leaf("encapsulation") != "vlan-ccc" {
		l.add(Dangling, where, "there is no unit of this name that carries circuits")
	}
}

func (l *linter) label(where, text string, least int) {
	if n, err := strconv.Atoi(text); err != nil || n < least || n > maxLabel {
		l.add(Label, where, "%q is not %d to %d", text, least, maxLabel)
	}
}

// alone checks that a value is of one thing only.
func (l *linter) alone(rule Rule, where, value, of string, taken map[string]string) {
	if other, is := taken[value]; is && value != "" {
		l.add(rule, where, "%s is that of %s, too", value, other)
	}
	taken[value] = of
}
