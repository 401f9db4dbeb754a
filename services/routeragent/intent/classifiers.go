package intent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// TermID names a term of a classifier on an interface.
type TermID struct {
	// Interface is the interface-id of the binding.
	Interface string
	// Type of the classifier: IPV4 or IPV6.
	Type string
	// Term is the id of the term.
	Term string
}

// readClassifiers reads the classifiers bound to interfaces. Terms count packets
// per interface (…/input/classifiers/classifier/terms/term/state), so every
// interface has a rule set of its own.
func (c *compiler) readClassifiers() error {
	c.terms, c.ofPorts = map[TermID]int{}, map[string][]kernel.Rule{}
	for _, e := range c.root.at("qos", "interfaces", "interface").entries() {
		bound := e.at("input", "classifiers", "classifier").entries()
		if len(bound) == 0 {
			continue
		}
		name, _, gone := c.boundInterface(e)
		if _, twice := c.bindings[name]; twice {
			return invalid(e.path+"/input/classifiers", "interface %s has a forwarding policy or classifiers already; OpenConfig allows one or the other", name)
		}
		policy := "classifiers of " + name
		for _, b := range bound {
			rules, err := c.boundClassifier(e.text("interface-id"), b)
			if err != nil {
				return err
			}
			c.ofPorts[policy] = append(c.ofPorts[policy], rules...)
		}
		if err := checkLimits(e.path+"/input/classifiers", c.ofPorts[policy]); err != nil {
			return err
		}
		if gone != nil {
			c.leaveOutClassifiers(e, policy, gone)
			continue
		}
		c.portIDs[name], c.bindings[name] = e.text("interface-id"), policy
	}
	return nil
}

// leaveOutClassifiers forgets the classifiers of an interface that is gone, but for their counters' numbers.
func (c *compiler) leaveOutClassifiers(e view, policy string, gone error) {
	c.leftOut[e.path+"/input/classifiers"] = gone
	delete(c.ofPorts, policy)
	maps.DeleteFunc(c.terms, func(id TermID, _ int) bool { return id.Interface == e.text("interface-id") })
}

func (c *compiler) boundClassifier(port string, b view) ([]kernel.Rule, error) {
	name, kind := b.text("config", "name"), b.text("type")
	if kind != "IPV4" && kind != "IPV6" {
		return nil, unsupported(b.path, "type %s; IPV4 and IPV6 are implemented", kind)
	}
	classifier := c.root.at("qos", "classifiers", "classifier").entry(name)
	if !classifier.exists() {
		return nil, invalid(b.path+"/config/name", "there is no classifier %q", name)
	}
	if t := classifier.text("config", "type"); t != kind {
		return nil, invalid(b.path, "classifier %q is of type %q", name, t)
	}
	terms, err := orderedTerms(classifier)
	if err != nil {
		return nil, err
	}
	var out []kernel.Rule
	for _, t := range terms {
		id := TermID{port, kind, t.text("id")}
		slot, ok := c.ids.counter(fmt.Sprintf("%s/%s/%s", port, kind, id.Term))
		if !ok {
			return nil, tooMany(t.path, kernel.MaxRuleCounters, "rules")
		}
		c.terms[id] = slot
		rules, err := c.readTerm(t, kind, slot)
		if err != nil {
			return nil, err
		}
		out = append(out, rules...)
	}
	return out, nil
}

// orderedTerms sorts terms by their ids as numbers: the model defines no order.
func orderedTerms(classifier view) ([]view, error) {
	terms := classifier.at("terms", "term").entries()
	number := map[string]uint64{}
	for _, t := range terms {
		n, err := strconv.ParseUint(t.text("id"), 10, 32)
		if err != nil {
			return nil, unsupported(t.path+"/id", "is no number; terms are looked at in the order of their numbers")
		}
		number[t.text("id")] = n
	}
	slices.SortStableFunc(terms, func(a, b view) int { return cmp.Compare(number[a.text("id")], number[b.text("id")]) })
	return terms, nil
}

func (c *compiler) readTerm(t view, kind string, slot int) ([]kernel.Rule, error) {
	family, other := "ipv4", "ipv6"
	if kind == "IPV6" {
		family, other = other, family
	}
	if t.at("conditions", other).exists() {
		return nil, invalid(t.path+"/conditions/"+other, "stands in a classifier of type %s", kind)
	}
	m, err := c.readMatch(t.at("conditions"), family)
	if err != nil {
		return nil, err
	}
	sequence, _ := strconv.ParseUint(t.text("id"), 10, 32)
	r := kernel.Rule{Sequence: uint32(sequence), Counter: slot}
	if group := t.text("actions", "config", "target-group"); group != "" {
		class, err := c.classOf(t.path+"/actions/config/target-group", group)
		if err != nil {
			return nil, err
		}
		r.Mark = kernel.Mark(class, 0)
	}
	if dscp, ok := t.number("actions", "remark", "config", "set-dscp"); ok {
		r.Remark = kernel.RemarkTo(uint8(dscp))
	}
	if r.Mark == 0 && r.Remark == 0 {
		return nil, invalid(t.path+"/actions", "does nothing; give a target-group, a set-dscp, or both")
	}
	return m.rules(r), nil
}
