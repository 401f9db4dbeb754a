package datapath

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
)

// Spent is how often the programs ran and how long, as far as kernel.bpf_stats_enabled was on.
func (d *Datapath) Spent() (runs uint64, spent time.Duration, err error) {
	for _, p := range []*ebpf.Program{d.CustomerIn, d.CustomerOut, d.CoreIn, d.CoreOut} {
		s, err := p.Stats()
		if err != nil {
			return 0, 0, fmt.Errorf("ask for the statistics of a program: %w", err)
		}
		runs, spent = runs+s.RunCount, spent+s.Runtime
	}
	return runs, spent, nil
}
