package datapath

import (
	"fmt"
	"time"
)

// Stats returns how often the programs ran and their time, counted while kernel.bpf_stats_enabled is on.
func (d *Datapath) Stats() (runs uint64, spent time.Duration, err error) {
	for _, p := range d.programs() {
		s, err := p.Stats()
		if err != nil {
			return 0, 0, fmt.Errorf("read the statistics of a program: %w", err)
		}
		runs, spent = runs+s.RunCount, spent+s.Runtime
	}
	return runs, spent, nil
}
