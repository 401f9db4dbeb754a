package houserules

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The words are put together here, because this file is read by its own rules.
var (
	hostNames = regexp.MustCompile(strings.Join([]string{
		`registry\.npm` + `js\.org`, `registry\.yarn` + `pkg\.com`,
		`(proxy|sum)\.go` + `lang\.org`, `repo1?\.maven` + `\.(apache\.)?org`,
		`(files\.python` + `hosted|py` + `pi)\.org`, `static\.crates` + `\.io`, `deb\.deb` + `ian\.org`,
	}, "|"))
	machinePaths = regexp.MustCompile(`(^|[^A-Za-z0-9_.$}/-])/(wo` + `rk|ro` + `ot|ho` + `me)/[A-Za-z0-9_.-]+`)
	later        = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
)

// foreign is what others wrote and we keep as it is.
var foreign = []string{"yang", "proto/third_party/google"}

func machines(t *Tree) []string {
	return append(grep(t, hostNames, nil), grep(t, machinePaths, nil)...)
}

func leftovers(t *Tree) []string {
	return grep(t, later, func(name string) bool {
		f, ok := t.Go[name]
		return ok && f.Generated || path.Base(name) == "package-lock.json" || path.Base(name) == "go.sum"
	})
}

// grep returns the lines of text files that match.
func grep(t *Tree, what *regexp.Regexp, skip func(name string) bool) []string {
	var bad []string
	for _, name := range t.Names() {
		content := t.Files[name]
		if anyUnder(name, foreign) || bytes.IndexByte(content, 0) >= 0 || skip != nil && skip(name) || !what.Match(content) {
			continue
		}
		for i, line := range bytes.Split(content, []byte("\n")) {
			if m := what.Find(line); m != nil {
				bad = append(bad, fmt.Sprintf("%s:%d: %s", name, i+1, bytes.TrimSpace(m)))
			}
		}
	}
	return bad
}

// generatedFolders hold nothing that people wrote.
var generatedFolders = []string{"proto/gen", "services/dashboard/web/src/gen"}

var generatedNames = regexp.MustCompile(`(\.pb\.go|\.connect\.go|_bpfe[lb]\.go|_string\.go|_pb\.ts)$`)

func generated(t *Tree) []string {
	var bad []string
	for _, name := range t.Names() {
		if !slices.Contains([]string{".go", ".ts"}, path.Ext(name)) {
			continue
		}
		if (anyUnder(name, generatedFolders) || generatedNames.MatchString(name)) && !saysGenerated(t.Files[name]) {
			bad = append(bad, name+" lacks the line with DO NOT EDIT that its generator writes")
		}
	}
	return bad
}

// saysGenerated looks at the head only, where a reader would see it.
func saysGenerated(content []byte) bool {
	return bytes.Contains(content[:min(len(content), 2000)], []byte("DO NOT EDIT")) ||
		bytes.Contains(content[:min(len(content), 2000)], []byte("@generated"))
}

func licence(t *Tree) []string {
	text := string(t.Files["LICENSE"])
	if !strings.Contains(text, "Apache License") || !strings.Contains(text, "Version 2.0") {
		return []string{"LICENSE is not the Apache License, Version 2.0"}
	}
	return nil
}
