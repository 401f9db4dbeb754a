package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// samples collects the runs of every task and program.
type samples struct {
	order []string
	runs  map[string][]float64
	cpu   map[string][]float64
	row   map[string]Row
	bad   error
}

func newSamples() *samples {
	return &samples{runs: map[string][]float64{}, cpu: map[string][]float64{}, row: map[string]Row{}}
}

// took is time on the clock and on processors, over all threads.
type took struct{ wall, cpu time.Duration }

// watch starts to measure; the function that it returns says what it took since then.
func watch() func() took {
	start, used := time.Now(), processor()
	return func() took { return took{wall: time.Since(start), cpu: processor() - used} }
}

// processor is the processor time of this process.
func processor() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// add keeps one run of a program at a task: so many searches in so much time.
func (s *samples) add(task, program string, threads, count int, sum int64, t took) {
	key := fmt.Sprint(task, "|", program, "|", threads)
	old, known := s.row[key]
	if !known {
		s.order = append(s.order, key)
	} else if old.CostSum != sum {
		s.bad = fmt.Errorf("%s, %s: the costs add up to %d, and in another run to %d", task, program, sum, old.CostSum)
	}
	s.row[key] = Row{Task: task, Program: program, Threads: threads, Count: count, CostSum: sum}
	each := 1000 * float64(max(1, count))
	s.runs[key] = append(s.runs[key], float64(t.wall)/each)
	s.cpu[key] = append(s.cpu[key], float64(t.cpu)/each)
}

// rows are medians and ranges. That programs disagree about costs is an error.
func (s *samples) rows() ([]Row, error) {
	slices.SortFunc(s.order, func(a, b string) int { return slices.Compare([]byte(a), []byte(b)) })
	var out []Row
	for _, key := range s.order {
		r, runs := s.row[key], s.runs[key]
		slices.Sort(runs)
		slices.Sort(s.cpu[key])
		r.CPU = s.cpu[key][len(runs)/2]
		r.Least, r.Median, r.Most = runs[0], runs[len(runs)/2], runs[len(runs)-1]
		for _, other := range out {
			if other.Task == r.Task && other.Count == r.Count && other.CostSum != r.CostSum {
				s.bad = fmt.Errorf("%s: the costs of %s add up to %d, those of %s to %d", r.Task, r.Program, r.CostSum, other.Program, other.CostSum)
			}
		}
		out = append(out, r)
	}
	return out, s.bad
}
