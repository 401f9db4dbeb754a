package main

import (
	"fmt"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"github.com/openconfig/ygot/ytypes"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/services/routeragent/octest"
	"github.com/millrace/millrace/services/routeragent/tree"
)

const (
	interfaces    = 1000
	subinterfaces = 3 // of each
	edits         = 200
)

// subinterfaceTree is the tree of ygot's own leafref benchmark: 1,000 interfaces with three subinterfaces each.
func subinterfaceTree() string {
	var list []string
	for i := range interfaces {
		var subs []string
		for j := range subinterfaces {
			subs = append(subs, fmt.Sprintf(`{"index":%d,"config":{"index":%d,"description":"%d of %d"},"ipv4":{"addresses":{"address":[{"ip":"10.%d.%d.%d","config":{"ip":"10.%d.%d.%d","prefix-length":30}}]}}}`,
				j, j, j, i, i>>8, i&255, j*4+1, i>>8, i&255, j*4+1))
		}
		list = append(list, fmt.Sprintf(`{"name":"eth%d","config":{"name":"eth%d","description":"line %d"},"subinterfaces":{"subinterface":[%s]}}`, i, i, i, strings.Join(subs, ",")))
	}
	return `{"openconfig-interfaces:interfaces":{"interface":[` + strings.Join(list, ",") + `]}}`
}

// benchTree changes one leaf of a tree of 3,000 subinterfaces: what has changed, is it valid, how is it reported.
func benchTree(t *table, runs int) error {
	text := subinterfaceTree()
	ours := t.row("millrace: fork, edit, diff, validate, encode", fmt.Sprintf("of %d changes in a row; leafrefs validated; encoded as a gNMI Notification", edits))
	first := t.row("millrace: the same tree read and validated from nothing", "what a start costs, once")
	diff := t.row("ygot: Diff", "ygot.Diff(before, after), which gives the gNMI Notification; v0.36.0, structs generated with uncompressed paths")
	lax := t.row("ygot: Validate without leafrefs", "Validate(&ytypes.LeafrefOptions{IgnoreMissingData: true})")
	full := t.row("ygot: Validate", "Validate(), leafrefs included")
	copied := t.row("ygot: DeepCopy", "what a candidate of its own costs; in no sum below")
	for run := range runs {
		base := tree.New()
		v := tree.NewValidator()
		if err := first.time(1, func() error {
			var err error
			if base, err = tree.FromJSON([]byte(text)); err != nil {
				return err
			}
			return v.Validate(base, nil)
		}); err != nil {
			return err
		}
		if err := ours.time(edits, func() error { return editLeaves(base, v, run) }); err != nil {
			return err
		}
		if err := peerTree(text, run, diff, lax, full, copied); err != nil {
			return err
		}
	}
	t.notef("ygot Diff + Validate / millrace: %.0f; ygot Diff + Validate without leafrefs / millrace: %.0f; ygot Validate / millrace: %.0f",
		ratio(diff, ours)+ratio(full, ours), ratio(diff, ours)+ratio(lax, ours), ratio(full, ours))
	return nil
}

func leafPath(i int) (tree.Path, error) {
	p, err := ygot.StringToStructuredPath(fmt.Sprintf("/interfaces/interface[name=eth%d]/subinterfaces/subinterface[index=1]/config/description", i%interfaces))
	if err != nil {
		return tree.Path{}, err
	}
	return tree.Resolve(nil, p)
}

// editLeaves makes changes of one leaf each, every one a valid configuration of its own.
func editLeaves(running *tree.Node, v *tree.Validator, run int) error {
	for i := range edits {
		p, err := leafPath(i * 7)
		if err != nil {
			return err
		}
		candidate := running.Fork()
		if err := candidate.Update(p, fmt.Sprintf("change %d of run %d", i, run)); err != nil {
			return err
		}
		n := notification(running, candidate)
		if err := v.Validate(candidate, nil); err != nil {
			return err
		}
		if raw, err := proto.Marshal(n); err != nil || len(n.GetUpdate()) != 1 || len(raw) == 0 {
			return fmt.Errorf("%d updates in the change of one leaf (%v)", len(n.GetUpdate()), err)
		}
		running = candidate
	}
	return nil
}

// notification is the change from a to b as gNMI says it (section 2.1), leaves as scalars.
func notification(a, b *tree.Node) *gnmi.Notification {
	gone, written := tree.Changes(a, b, tree.Path{}, tree.All)
	n := &gnmi.Notification{}
	for _, p := range gone {
		n.Delete = append(n.Delete, p.Proto())
	}
	for _, m := range written {
		n.Update = append(n.Update, &gnmi.Update{Path: m.Path.Proto(), Val: m.Node.Typed()})
	}
	return n
}

func peerTree(text string, run int, diff, lax, full, copied *row) error {
	before := &octest.Device{}
	if err := octest.Unmarshal([]byte(text), before); err != nil {
		return err
	}
	after := before
	if err := copied.time(1, func() error {
		c, err := ygot.DeepCopy(before)
		after, _ = c.(*octest.Device)
		return err
	}); err != nil {
		return err
	}
	after.GetInterfaces().Interface["eth7"].GetSubinterfaces().Subinterface[1].GetConfig().Description = ygot.String(fmt.Sprintf("run %d", run))
	if err := diff.time(1, func() error {
		n, err := ygot.Diff(before, after)
		if err == nil && len(n.GetUpdate()) != 1 {
			err = fmt.Errorf("ygot.Diff gives %d updates for a change of one leaf", len(n.GetUpdate()))
		}
		return err
	}); err != nil {
		return err
	}
	if err := lax.time(1, func() error { return after.Validate(&ytypes.LeafrefOptions{IgnoreMissingData: true}) }); err != nil {
		return err
	}
	return full.time(1, func() error { return after.Validate() })
}
