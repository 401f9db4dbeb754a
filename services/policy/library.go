package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// all reads every file; two files with one policy name are an error.
func (l *library) all() (map[string]*document.Policy, []string, error) {
	files, err := fs.Glob(l.files, "*.yaml")
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", l.where, err)
	}
	byName, in, names := map[string]*document.Policy{}, map[string]string{}, []string{}
	for _, file := range files {
		text, err := fs.ReadFile(l.files, file)
		if err != nil {
			return nil, nil, fmt.Errorf("read policy %s: %w", file, err)
		}
		p, err := l.parse(file, string(text))
		if err != nil {
			return nil, nil, err
		}
		if other, twice := in[p.Name]; twice {
			return nil, nil, fmt.Errorf("%s and %s are both policy %s; rename one", other, file, p.Name)
		}
		byName[p.Name], in[p.Name], names = p, file, append(names, p.Name)
	}
	return byName, names, nil
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

func (l *library) names() ([]string, error) {
	_, names, err := l.all()
	return names, err
}

func (l *library) get(name string) (*document.Policy, error) {
	byName, names, err := l.all()
	if err != nil {
		return nil, err
	}
	p, ok := byName[name]
	if !ok {
		return nil, fmt.Errorf("%w %q in %s; there is %s", errNoPolicy, name, l.where, strings.Join(names, ", "))
	}
	return p, nil
}
