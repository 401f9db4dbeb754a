package main

import (
	"path/filepath"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// stages are the parts of a Set of 20,000 pairs, called as services/routeragent calls them.
type stages struct {
	wire, json, edit, settle, validate, compile, encode, file, kernel *row
}

func newStages(t *table) *stages {
	part := func(name, note string) *row { return t.row("of it: "+name, note) }
	return &stages{
		wire: part("message decoded (protobuf)", "this and the next: one after the other, in this process, on the Set with a prefix set per address"),
		json: part("paths and JSON decoded", ""), edit: part("edit of the tree", ""), settle: part("what is the same put back", ""),
		validate: part("validation, leafrefs included", ""), compile: part("compilation", ""),
		encode: part("journal written as JSON", "while the kernel changes"), file: part("journal synced to disk", "while the kernel changes"),
		kernel: part("kernel changed and read back", ""),
	}
}

// run takes a Set of 20,000 pairs apart.
func (s *stages) run() error {
	return inBed(func(b *bed) error {
		x, err := openKernel(b)
		if err != nil {
			return err
		}
		running, v, c := tree.New(), tree.NewValidator(), &intent.Compiler{}
		start := &gnmi.SetRequest{}
		if err := add(start, "/", base(95)); err != nil {
			return err
		}
		if err := perform(running, start, func(_ *row, work func() error) error { return work() }, s); err != nil {
			return err
		}
		req, err := request(manyPairs(thousands, 0), false)
		if err != nil {
			return err
		}
		raw, err := proto.Marshal(req)
		if err != nil {
			return err
		}
		var plan intent.Plan
		var text []byte
		once := func(r *row, work func() error) error { return r.time(1, work) }
		candidate := running.Fork()
		req = &gnmi.SetRequest{}
		for _, stage := range []struct {
			row  *row
			work func() error
		}{
			{s.wire, func() error { return proto.Unmarshal(raw, req) }},
			{nil, func() error { return perform(candidate, req, once, s) }},
			{s.settle, func() error { candidate.Settle(running); return nil }},
			{s.validate, func() error { return v.Validate(candidate, []string{"ge-a", "ge-b"}) }},
			{s.compile, func() (err error) { plan, err = c.Compile(candidate, hardware, intent.IDs{}); return err }},
			{s.encode, func() error { text, _ = candidate.AppendJSON(nil, tree.All); return nil }},
			{s.file, func() error { return kernel.WriteFile(filepath.Join(x.dir, "running"), text) }},
			{s.kernel, func() error { return x.converge(plan.Kernel) }},
		} {
			if stage.row == nil {
				err = stage.work()
			} else {
				err = once(stage.row, stage.work)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func hardware(string) (intent.Interface, bool) {
	return intent.Interface{Speed: 100e6, Buffer: 1250000}, true
}

// perform reads the operations of a Set, then makes them.
func perform(n *tree.Node, req *gnmi.SetRequest, timed func(*row, func() error) error, s *stages) error {
	paths, values := make([]tree.Path, len(req.GetReplace())), make([]any, len(req.GetReplace()))
	err := timed(s.json, func() (err error) {
		for i, u := range req.GetReplace() {
			if paths[i], err = tree.Resolve(nil, u.GetPath()); err != nil {
				return err
			}
			if values[i], err = tree.Value(u.GetVal()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return timed(s.edit, func() error {
		for i, p := range paths {
			if err := n.Replace(p, values[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// converge makes the kernel hold a spec and reads it back.
func (x *loaded) converge(s kernel.Spec) error {
	for _, step := range []func(kernel.Spec) error{x.Ensure, x.Switch, x.Prune, x.Verify} {
		if err := step(s); err != nil {
			return err
		}
	}
	return nil
}
