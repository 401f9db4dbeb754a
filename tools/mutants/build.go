package main

import (
	"encoding/json"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// choice is added to the package. MUTANT is the mutant that a test binary is, or 0 for the program itself. What never
// ends is ended after MUTANT_LIMIT milliseconds of processor time, or by 4 GB of addresses: neither depends on what
// else the machine does.
const choice = `package %s

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

var mutantChoice = func() int {
	n, _ := strconv.Atoi(os.Getenv("MUTANT"))
	return n
}()

func init() {
	limit, _ := strconv.ParseInt(os.Getenv("MUTANT_LIMIT"), 10, 64)
	addresses := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &addresses); err != nil {
		panic(err)
	}
	go func() {
		var used syscall.Rusage
		for {
			time.Sleep(20 * time.Millisecond)
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
				panic(err)
			}
			if (used.Utime.Nano()+used.Stime.Nano())/1e6 > limit {
				os.Exit(3)
			}
		}
	}()
}
`

// subject is a package whose mutants are tried.
type subject struct {
	root, folder, name string
	// files are the sources, by name without folder.
	files map[string]*source
	all   []*copied
	// tmp is where its test binaries are built.
	tmp string
}

func readSubject(root, folder, tmp string) (*subject, error) {
	p, err := build.ImportDir(filepath.Join(root, folder), 0)
	if err != nil {
		return nil, err
	}
	s := &subject{root: root, folder: folder, name: p.Name, files: map[string]*source{}, tmp: tmp}
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(root, folder, name))
		if err != nil {
			return nil, err
		}
		f, err := parseSource(folder+"/"+name, string(text), len(s.all)+1)
		if err != nil {
			return nil, err
		}
		s.files[name] = f
		s.all = append(s.all, f.mutants...)
	}
	return s, nil
}

// buildSchema compiles the package with all its mutants and its tests. What the compiler refuses is NOT VIABLE, and
// left out the next time.
func (s *subject) buildSchema() (binary string, err error) {
	for {
		texts := map[string]string{}
		for name, f := range s.files {
			texts[name] = f.schema()
		}
		binary, out, err := s.compile("schema", texts)
		if err == nil {
			return binary, nil
		}
		if !s.drop(out) {
			return "", fmt.Errorf("%s: with its mutants it does not compile: %w\n%s", s.folder, err, out)
		}
	}
}

var position = regexp.MustCompile(`(?m)^\S*?([^/\s]+\.go):(\d+):\d+: `)

// drop marks the mutants that stand where the compiler found errors.
func (s *subject) drop(output []byte) (any bool) {
	for _, at := range position.FindAllSubmatch(output, -1) {
		f := s.files[string(at[1])]
		if f == nil {
			continue
		}
		row, _ := strconv.Atoi(string(at[2]))
		for _, m := range f.mutants {
			if m.Status != notViable && m.first <= row && row <= m.last {
				m.Status, any = notViable, true
			}
		}
	}
	return any
}

// buildOne compiles the package with one change, and nothing else of what a schema has.
func (s *subject) buildOne(file string, m *copied) (binary string, err error) {
	binary, _, err = s.compile(fmt.Sprint("mutant", m.number), map[string]string{file: m.site.apply(s.files[file].text, 0)})
	return binary, err
}

// compile makes a test binary of the package, with some of its files replaced.
func (s *subject) compile(name string, texts map[string]string) (binary string, output []byte, err error) {
	folder := filepath.Join(s.tmp, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", nil, err
	}
	replace := map[string]string{}
	texts["mutant_choice.go"] = fmt.Sprintf(choice, s.name)
	for file, text := range texts {
		replace[filepath.Join(s.root, s.folder, file)] = filepath.Join(folder, file)
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
			return "", nil, err
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, raw, 0o644); err != nil {
		return "", nil, err
	}
	binary = filepath.Join(folder, "test")
	// vet would refuse conditions that are never true, which are mutants for the tests.
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-trimpath", "-overlay", overlay, "-gcflags=-e", "-ldflags=-s -w", "-o", binary, "./"+s.folder)
	cmd.Dir = s.root
	output, err = cmd.CombinedOutput()
	return binary, output, err
}
