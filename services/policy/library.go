package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/document"
)

// errNoPolicy is what a caller turns into NOT_FOUND.
var errNoPolicy = errors.New("no such policy")

// library finds policies by name. Files are read at every use: an edit counts
// from the next plan on. What has not changed is not parsed again.
type library struct {
	files fs.FS
	where string
	// found gets what is wrong with files, at every use; nil: nobody does.
	found func([]error)

	mu     sync.Mutex
	parsed map[string]parsedFile
}

// parsedFile is a file without problems. Its policy is shared by all who ask for it, so nobody writes to it.
type parsedFile struct {
	text   string
	policy *document.Policy
}

func newLibrary(dir string) *library {
	l := &library{files: policies.Files, where: "the shipped policies", parsed: map[string]parsedFile{}}
	if dir != "" {
		l.files, l.where = os.DirFS(dir), dir
	}
	return l
}

// content is what the files hold.
type content struct {
	policies map[string]*document.Policy
	// names are those of the policies, in the order of the files.
	names []string
	// broken are the errors of files; twice has those of names that several files have.
	broken []error
	twice  map[string]error
}

// problems are what is wrong with files: errors in the order of the files, then names that several have.
func (c content) problems() []error {
	out := slices.Clone(c.broken)
	for _, name := range slices.Sorted(maps.Keys(c.twice)) {
		out = append(out, c.twice[name])
	}
	return out
}

// all reads every file. What is wrong with one is no matter of the policies in the others: somebody may be writing it.
func (l *library) all() (content, error) {
	files, err := fs.Glob(l.files, "*.yaml")
	if err != nil {
		return content{}, fmt.Errorf("list %s: %w", l.where, err)
	}
	out, in := content{policies: map[string]*document.Policy{}, twice: map[string]error{}}, map[string]string{}
	for _, file := range files {
		p, err := l.read(file)
		if err != nil {
			out.broken = append(out.broken, err)
			continue
		}
		if other, twice := in[p.Name]; twice {
			out.twice[p.Name] = fmt.Errorf("%s and %s are both policy %s; rename one", other, file, p.Name)
			continue
		}
		out.policies[p.Name], in[p.Name], out.names = p, file, append(out.names, p.Name)
	}
	if l.found != nil {
		l.found(out.problems())
	}
	return out, nil
}

func (l *library) read(file string) (*document.Policy, error) {
	text, err := fs.ReadFile(l.files, file)
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", file, err)
	}
	return l.parse(file, string(text))
}

func (l *library) parse(file, text string) (*document.Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.parsed[file]; ok && known.text == text {
		return known.policy, nil
	}
	p, problems := document.Parse(file, text)
	if err := document.Join(problems); err != nil {
		return nil, err
	}
	l.parsed[file] = parsedFile{text: text, policy: p}
	return p, nil
}

// names lists the policies, if nothing is wrong with any file.
func (l *library) names() ([]string, error) {
	all, err := l.all()
	if err != nil {
		return nil, err
	}
	return all.names, errors.Join(all.problems()...)
}

func (l *library) get(name string) (*document.Policy, error) {
	all, err := l.all()
	if err != nil {
		return nil, err
	}
	p, ok := all.policies[name]
	switch {
	case all.twice[name] != nil:
		return nil, all.twice[name]
	case !ok && len(all.broken) > 0: // it may be in one of these files
		return nil, errors.Join(all.broken...)
	case !ok:
		return nil, fmt.Errorf("%w %q in %s; there is %s", errNoPolicy, name, l.where, strings.Join(all.names, ", "))
	}
	return p, nil
}
