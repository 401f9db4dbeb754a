package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// module is one that is linked.
type module struct {
	path, version, sum string
	// licences are SPDX identifiers of what its files of licences are; texts are these files by name.
	licences []string
	texts    []text
}

type text struct {
	name string
	raw  []byte
}

// linked are the modules of a binary, Go's own library among them, by path.
func linked(info *debug.BuildInfo) ([]module, error) {
	var wanted []string
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		wanted = append(wanted, d.Path+"@"+d.Version)
	}
	folders, err := download(wanted)
	if err != nil {
		return nil, err
	}
	var out []module
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		if m.texts, err = textsIn(folders[d.Path+"@"+d.Version]); err != nil {
			return nil, err
		}
		m.licences = identify(m.texts)
		out = append(out, m)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	std := module{path: "std", version: info.GoVersion}
	if std.texts, err = textsIn(strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	std.licences = identify(std.texts)
	return append(out, std), nil
}

// download returns the folders of modules, which a build has fetched already.
func download(modules []string) (map[string]string, error) {
	out, err := exec.Command("go", append([]string{"mod", "download", "-json"}, modules...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w", err)
	}
	folders := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("go mod download: %w", err)
		}
		folders[m.Path+"@"+m.Version] = m.Dir
	}
}

// named are the names that files of licences have.
var named = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^notice|^patents`)

func textsIn(folder string) (out []text, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !named.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, text{e.Name(), raw})
	}
	return out, nil
}

// identify names the licences of texts. A file of patents grants something beside the licence, and is none.
func identify(texts []text) (out []string) {
	for _, t := range texts {
		if strings.HasPrefix(strings.ToLower(t.name), "patents") {
			continue
		}
		for _, m := range licensecheck.Scan(t.raw).Match {
			if !m.IsURL {
				out = append(out, m.ID)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allowed are licences under which a module may be linked into an Apache-2.0 program that is given away as a binary.
var allowed = map[string]bool{
	"Apache-2.0": true, "MIT": true, "MIT-0": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "MPL-2.0": true, "CC0-1.0": true, "Unlicense": true, "0BSD": true,
}

// judge is an error that names each module which must not be linked. A module of which a licence is not known here may
// not either, until a person has read it.
func judge(modules []module) error {
	var errs []error
	for _, m := range modules {
		if len(m.licences) == 0 {
			errs = append(errs, fmt.Errorf("%s %s: no licence is found", m.path, m.version))
		}
		for _, l := range m.licences {
			if !allowed[l] {
				errs = append(errs, fmt.Errorf("%s %s: its licence %s is not among those that may be linked", m.path, m.version, l))
			}
		}
	}
	return errors.Join(errs...)
}
