package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
)

const (
	thousands = 20_000 // prefix pairs
	weights   = 20     // changes of weight in a run
)

// benchSet measures whole Sets over mutual TLS on the loopback: applied to the kernel, read back, journal on disk.
func benchSet(t *table, runs int) error {
	one := t.row("Set of one scheduler weight", fmt.Sprintf("%d Sets per run, whole RPC over mutual TLS on the loopback; applied, read back, journal synced", weights))
	held := t.row("the same with 20,000 pairs held", "")
	sets := t.row("Set of 20,000 pairs, a prefix set per address", "40,001 replaces as services/push sends them")
	again := t.row("the same Set again: nothing changes", "")
	nightly := t.row("the same Set with 200 destinations changed", "all units sent again, 200 rules differ")
	changed := t.row("Set of 200 changed destinations of 20,000", "200 replaces, as services/push sends them")
	inline := t.row("Set of 20,000 pairs, addresses in the rules", "one replace of the policy")
	parts := newStages(t)
	for range runs {
		if err := parts.run(); err != nil {
			return err
		}
		for _, in := range []bool{false, true} {
			if err := inBed(func(b *bed) error {
				x, err := newTarget(b)
				if err != nil {
					return err
				}
				if err := x.prepare(); err != nil {
					return err
				}
				if in {
					return x.many(t, 0, true, inline)
				}
				if err := one.time(weights, x.weights); err != nil {
					return err
				}
				if err := x.many(t, 0, false, sets); err != nil {
					return err
				}
				if err := x.many(t, 0, false, again); err != nil {
					return err
				}
				if err := x.many(t, 1, false, nightly); err != nil {
					return err
				}
				if err := changed.time(1, x.nightlyRun); err != nil {
					return err
				}
				return held.time(weights, x.weights)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *target) prepare() error {
	req, err := weight(95)
	if err != nil {
		return err
	}
	req.Replace = nil
	if err := add(req, "/", base(95)); err != nil {
		return err
	}
	return x.set(req)
}

func (x *target) weights() error {
	for i := range weights {
		req, err := weight(50 + (i+rand.IntN(20))%45)
		if err != nil {
			return err
		}
		if err := x.set(req); err != nil {
			return err
		}
	}
	return nil
}

func (x *target) many(t *table, generation int, inline bool, r *row) error {
	req, err := request(manyPairs(thousands, generation), inline)
	if err != nil {
		return err
	}
	if len(r.wall) == 0 {
		r.note += fmt.Sprintf(" (%.1f MB)", float64(proto.Size(req))/1e6)
	}
	return r.time(1, func() error { return x.set(req) })
}

// nightlyRun sends what a nightly run changed: the destinations of another generation.
func (x *target) nightlyRun() error {
	req := &gnmi.SetRequest{}
	for _, p := range manyPairs(thousands, 2) {
		if p.generation == 0 {
			continue
		}
		if err := addSet(req, "dst", p.i, p.destination()); err != nil {
			return err
		}
	}
	return x.set(req)
}
