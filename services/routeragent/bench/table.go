package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// row is one thing measured.
type row struct {
	name string
	// wall and cpu of each run, per piece of work; cpu counts this process, its
	// children and no kernel thread, or is nothing where it means nothing.
	wall, cpu []time.Duration
	// note says how a peer was called, or what the row does not contain.
	note string
}

// table is what a bench prints.
type table struct {
	rows  []*row
	notes []string
}

func (t *table) row(name, note string) *row {
	r := &row{name: name, note: note}
	t.rows = append(t.rows, r)
	return r
}

func (t *table) notef(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// time runs work once and books it as n pieces.
func (r *row) time(n int, work func() error) error {
	runtime.GC() // nobody pays for the garbage of the row before
	c0, t0 := cpu(), time.Now()
	err := work()
	r.add(time.Since(t0)/time.Duration(n), (cpu()-c0)/time.Duration(n))
	return err
}

func (r *row) add(wall, cpu time.Duration) {
	r.wall, r.cpu = append(r.wall, wall), append(r.cpu, cpu)
}

// cpu is the user and system time of this process and of the children it has waited for.
func cpu() time.Duration {
	sum := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

func (t *table) print() {
	fmt.Println("| | median | range | CPU |")
	fmt.Println("|---|---:|---:|---:|")
	for _, r := range t.rows {
		if len(r.wall) == 0 {
			continue
		}
		used := "–"
		if c := median(r.cpu); c > 0 {
			used = short(c)
		}
		fmt.Printf("| %s | %s | %s–%s | %s |\n", r.name, short(median(r.wall)), short(slices.Min(r.wall)), short(slices.Max(r.wall)), used)
	}
	fmt.Println()
	for _, r := range t.rows {
		if r.note != "" {
			fmt.Printf("- %s: %s\n", r.name, r.note)
		}
	}
	for _, n := range t.notes {
		fmt.Println("- " + n)
	}
}

// short is a duration in three digits.
func short(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d >= u.unit {
			x := float64(d) / float64(u.unit)
			return fmt.Sprintf("%.*f %s", digits(x), x, u.name)
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

func digits(x float64) int {
	switch {
	case x >= 100:
		return 0
	case x >= 10:
		return 1
	}
	return 2
}

// ratio is how many times a is b.
func ratio(a, b *row) float64 { return float64(median(a.wall)) / float64(median(b.wall)) }
