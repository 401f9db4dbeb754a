// Command bench measures the twin's speed beside other simulators on one dumbbell.
//
// In: programs built by tools/htsim and tools/ns3, if any. Out: one table of
// packet-hops per second of processor time, interleaved runs, with the goodputs
// that show whether the same was simulated. Next: docs/reference/performance.md.
//
// Every run is a process of its own, the twin's too, and its processor time is the kernel's figure when it
// ends; all of them use one core.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/millrace/millrace/services/twin/dumbbell"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runs := flag.Int("runs", 5, "runs of each simulator, interleaved")
	seconds := flag.Float64("seconds", 60, "simulated seconds of twin and htsim")
	slow := flag.Float64("ns3-seconds", 4, "simulated seconds of ns-3, which is slow; its start counts too")
	htsim := flag.String("htsim", "", "program built by tools/htsim/build.sh")
	ns3 := flag.String("ns3", "", "program built by tools/ns3/build.sh")
	once := flag.Bool("once", false, "simulate once in this process and print the result: what a run of the twin is")
	sack := flag.Bool("sack", false, "SACK and delayed acknowledgements instead of NewReno with one per segment")
	flag.Parse()

	p := dumbbell.Standard()
	p.Duration = *seconds
	if *sack {
		p.SACK, p.AckEvery = true, 2
	}
	var err error
	if *once {
		err = play(p)
	} else {
		err = compare(ctx, p, *runs, *slow, *htsim, *ns3)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(p dumbbell.Parameters) error {
	r, err := dumbbell.Run(p)
	if err != nil {
		return err
	}
	fmt.Print(r.Print())
	return nil
}
