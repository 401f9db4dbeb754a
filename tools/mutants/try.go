package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stage is some of a package's tests.
type stage struct {
	args []string
	// limit of processor time.
	limit time.Duration
}

// runner runs test binaries of a package.
type runner struct {
	folder string
	stages []stage
}

// newRunner sees how long the tests take without a mutant. Tests that match skip are left out.
func newRunner(folder, binary, skip string) (*runner, error) {
	r := &runner{folder: folder}
	var not []string
	if skip != "" {
		not = []string{skip}
	}
	all := stage{args: skipping(not), limit: time.Hour}
	out, _, err := r.run(binary, 0, all)
	if err != nil {
		return nil, fmt.Errorf("%s: the tests fail without a mutant: %w\n%s", folder, err, out)
	}
	if late := late(string(out)); len(late) == 0 {
		r.stages = []stage{all}
	} else {
		names := "^(" + strings.Join(late, "|") + ")$"
		r.stages = []stage{{args: skipping(append(not, names))}, {args: append(skipping(not), "-test.run="+names)}}
	}
	for i := range r.stages {
		s := &r.stages[i]
		s.limit = all.limit
		_, used, err := r.run(binary, 0, *s)
		if err != nil {
			return nil, fmt.Errorf("%s: the tests fail without a mutant, in parts: %w", folder, err)
		}
		// Processor time differs from run to run, far less than by three.
		s.limit = 300*time.Millisecond + 3*used
	}
	return r, nil
}

func skipping(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{"-test.skip=" + strings.Join(names, "|")}
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(([0-9.]+)s\)$`)

// late are the tests that take more than a fifth of the time of all. They run only for the mutants that the others do
// not kill.
func late(out string) (names []string) {
	tests, all := passed.FindAllStringSubmatch(out, -1), 0.0
	took := make([]float64, len(tests))
	for i, m := range tests {
		took[i], _ = strconv.ParseFloat(m[2], 64)
		all += took[i]
	}
	for i, m := range tests {
		if took[i] > all/5 {
			names = append(names, m[1])
		}
	}
	return names
}

// run runs some tests on a mutant. It fails if they do.
func (r *runner) run(binary string, mutant int, s stage) (out []byte, used time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"-test.v", "-test.failfast"}, s.args...)...)
	cmd.Dir = r.folder
	// With one thread, processor time is the same on any number of processors.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprint("MUTANT=", mutant), fmt.Sprint("MUTANT_LIMIT=", s.limit.Milliseconds()))
	out, err = cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return out, 0, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// errNoAnswer means that the tests could not be run, so that the result for the mutant is unknown.
var errNoAnswer = errors.New("the tests did not run")

// judge finds out what becomes of a mutant that compiles, fast tests first.
func (r *runner) judge(binary string, m *copied) error {
	if m.Status == notViable {
		return nil
	}
	for _, s := range r.stages {
		_, _, err := r.run(binary, m.number, s)
		if errors.Is(err, errNoAnswer) {
			return err
		}
		if err != nil {
			m.Status = killed
			return nil
		}
	}
	m.Status = lived
	return nil
}

// judgeAlone judges a mutant that has a test binary of its own.
func (r *runner) judgeAlone(s *subject, file string, m *copied) error {
	binary, err := s.buildOne(file, m)
	if err != nil {
		m.Status = notViable
		return nil
	}
	defer os.Remove(binary)
	return r.judge(binary, m)
}

// try tests each mutant of a package, and reports each result as soon as it is known.
func try(root string, t target, workers int, seen func(Mutant)) ([]Mutant, error) {
	tmp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	s, err := readSubject(root, t.folder, tmp)
	if err != nil {
		return nil, err
	}
	schema, err := s.buildSchema()
	if err != nil {
		return nil, err
	}
	r, err := newRunner(filepath.Join(root, t.folder), schema, t.skip)
	if err != nil {
		return nil, err
	}
	alone := map[*copied]string{}
	for name, f := range s.files {
		for _, m := range f.outside() {
			alone[m] = name
		}
	}
	if err := each(workers, s.all, func(m *copied) error {
		defer func() { seen(m.Mutant) }()
		if file, ok := alone[m]; ok {
			return r.judgeAlone(s, file, m)
		}
		return r.judge(schema, m)
	}); err != nil {
		return nil, err
	}
	var out []Mutant
	for _, m := range s.all {
		out = append(out, m.Mutant)
	}
	return out, nil
}

// each does something with all mutants, some at a time.
func each(workers int, all []*copied, do func(*copied) error) error {
	work := make(chan *copied)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for m := range work {
				errs[i] = errors.Join(errs[i], do(m))
			}
		})
	}
	for _, m := range all {
		work <- m
	}
	close(work)
	wg.Wait()
	return errors.Join(slices.Compact(errs)...)
}
