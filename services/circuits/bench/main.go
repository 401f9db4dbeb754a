// Command bench measures admission: one port beside OSCARS' method on the same bookings, and circuits in a network.
//
// In: a network in REPETITA's .graph format, or none: then it makes one. Out: one JSON object or a table. Next:
// docs/reference/performance.md.
//
// OSCARS' method is written again here from what its ResvLibrary.overallAvailBandwidth does (see oscars.go); what a
// method has overbooked is counted by one number per hour. Nothing is random but by a fixed seed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// result is all that is measured.
type result struct {
	Ports   []port  `json:"ports"`
	Network network `json:"network"`
}

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object")
	file := flag.String("graph", "", "network in REPETITA's .graph format; none: one of 315 routers and 1,944 links is made")
	circuits := flag.Int("circuits", 100_000, "circuits that are in the network before it is asked")
	asked := flag.Int("requests", 1000, "requests that are timed")
	flag.Parse()
	r, err := measure(*file, *circuits, *asked)
	if err == nil && *asJSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		err = out.Encode(r)
	} else if err == nil {
		r.print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(file string, circuits, asked int) (result, error) {
	var r result
	if asked < 1 {
		return r, fmt.Errorf("%d requests: at least one", asked)
	}
	for _, bookings := range []int{1_000, 10_000, 100_000} {
		p, err := measurePort(bookings, asked)
		if err != nil {
			return r, err
		}
		r.Ports = append(r.Ports, p)
	}
	var err error
	r.Network, err = measureNetwork(file, circuits, asked)
	return r, err
}

func (r result) print() {
	fmt.Println("one port         admission µs  overbooked  OSCARS' method: admission µs  overbooked  sweep of all µs")
	for _, p := range r.Ports {
		fmt.Printf("%7d bookings %13.2f %11d %29.2f %11d %16.0f\n", p.Bookings, p.AdmissionUS, p.Overbooked, p.OSCARS.AdmissionUS, p.OSCARS.Overbooked, p.OSCARS.SweepAllUS)
	}
	n := r.Network
	fmt.Printf("network: %d routers, %d links, %d circuits, %d MB; read in %.1f s\n", n.Routers, n.Links, n.Circuits, n.Bytes>>20, n.ReadS)
	n.Granted.print("granted")
	n.Refused.print("refused")
	fmt.Printf("%d offers\n", n.Offers)
	n.Displacing.print("choices who makes room")
	fmt.Printf("%d circuits that would make room\n", n.Displaced)
}

func (t times) print(what string) {
	fmt.Printf("%s %5d: %.0f µs of processor time on the average; by the clock %.0f µs at the median, %.0f for 99 of 100\n",
		what, t.Count, t.MeanUS, t.MedianWallUS, t.P99WallUS)
}
