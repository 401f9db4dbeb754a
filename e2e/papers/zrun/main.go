package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/millrace/millrace/e2e/papers"
)

func main() {
	b := time.Now()
	r, err := papers.Run(context.Background(), papers.Options{Only: os.Args[1], Quick: len(os.Args) > 3, Progress: func(s string) { fmt.Fprintf(os.Stderr, "%.1f %s\n", time.Since(b).Seconds(), s) }})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, e := range r.Experiments {
		for _, v := range e.Verdicts {
			fmt.Printf("%-14s %-14s %-80.80s %10.4g %10.4g %-8s %-14s %s\n", e.ID, v.Item, v.What, v.Row.Paper, v.Twin, v.Unit, v.Tolerance(), papers.Word(v))
		}
	}
	for k, t := range r.Totals {
		fmt.Println(k, *t)
	}
	fmt.Println(r.Seconds, r.Hops)
	if len(os.Args) > 2 && os.Args[2] != "" {
		fmt.Println(r.WritePage(os.Args[2]))
	}
}
