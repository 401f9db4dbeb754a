// Package closedloop compares fixed splits of a port between alpha and beta with the law of internal/split, on the
// testbed of paper 002 at 10 Gbit/s: experiment 6's loads, and a day whose load rises and falls.
//
// In: nothing but the code. Out: a Result, and whether beta is never worse. Next: `millrace papers loop`,
// docs/reference/split-twin.md.
package closedloop

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/split"
)

// Loop is the name of the split that the law chooses; a fixed one is written "95/5".
const Loop = "loop"

// Row is one split under one load.
type Row struct {
	Load  string `json:"load"`
	Split string `json:"split"`
	// Alpha and Beta are what TCP and UDP carried, Gbit/s of payload.
	Alpha float64 `json:"alpha_gbps"`
	Beta  float64 `json:"beta_gbps"`
	// Loss is of beta's UDP, percent; Worst is that of its worst hour, or of all where there is but one.
	Loss  float64 `json:"beta_loss_percent"`
	Worst float64 `json:"beta_worst_loss_percent"`
	// Ping and PingMost are the mean of a ping through beta's queue and its longest, ms.
	Ping     float64 `json:"ping_ms"`
	PingMost float64 `json:"ping_most_ms"`
	// Moves are those of the loop, and Shares between which of beta's shares.
	Moves  int `json:"moves"`
	Least  int `json:"least_share"`
	Most   int `json:"most_share"`
	byHour []float64
}

// Result is the comparison.
type Result struct {
	Rows []Row `json:"rows"`
	// Findings hold the loop against each fixed split.
	Findings []Finding `json:"findings"`
	Seconds  float64   `json:"seconds"`
	Hops     int64     `json:"packet_hops"`
}

// Options of a run.
type Options struct {
	// Quick runs one load of experiment 6 in less time.
	Quick    bool
	Workers  int
	Progress func(string)
}

// run is one row on its way.
type run struct {
	load  load
	share share
	row   Row
	hops  int64
	err   error
}

// share is a split: fixed where law is nil.
type share struct {
	name   string
	beta   int
	law    *split.Law
	strict bool
}

func fixedShare(beta int) share { return share{name: fmt.Sprintf("%d/%d", 100-beta, beta), beta: beta} }

// looped starts at the paper's 95/5, as policies/hntes-split.yaml.
func looped() share {
	l := split.Default()
	return share{name: Loop, beta: l.Min, law: &l}
}

// Run plays everything.
func Run(ctx context.Context, o Options) (*Result, error) {
	begin, runs := time.Now(), all(o.Quick)
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	next := make(chan *run)
	var workers sync.WaitGroup
	var say sync.Mutex
	done := 0
	for range o.Workers {
		workers.Go(func() {
			for r := range next {
				r.err = r.play(ctx)
				say.Lock()
				if done++; o.Progress != nil {
					o.Progress(fmt.Sprintf("%3d of %d  %s, %s", done, len(runs), r.load.name, r.share.name))
				}
				say.Unlock()
			}
		})
	}
	for _, r := range runs {
		next <- r
	}
	close(next)
	workers.Wait()
	out := &Result{}
	for _, r := range runs {
		if r.err != nil {
			return nil, fmt.Errorf("%s, %s: %w", r.load.name, r.share.name, r.err)
		}
		out.Rows = append(out.Rows, r.row)
		out.Hops += r.hops
	}
	out.Findings, out.Seconds = judge(out.Rows), time.Since(begin).Seconds()
	return out, nil
}
