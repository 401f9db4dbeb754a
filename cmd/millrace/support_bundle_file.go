package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/scrub"
)

// bundle is what goes into the file. Every text in it has been through scrub.
type bundle struct {
	files   []bundleFile
	secrets []string
}

type bundleFile struct{ name, text string }

func newBundle(secrets []string) *bundle { return &bundle{secrets: secrets} }

// add adds a text without its secrets, or why there is none.
func (b *bundle) add(name string, raw []byte, err error) {
	text := string(raw)
	if err != nil {
		name, text = name+".missing", err.Error()+"\n"
	}
	b.files = append(b.files, bundleFile{scrub.Text(name, b.secrets), scrub.Text(text, b.secrets)})
}

// write writes the file, readable for its owner only: names and addresses of the network are in it.
func (b *bundle) write(output string) (err error) {
	f, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return coded{fmt.Errorf("write the bundle: %w", err), exitUsage}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, file := range b.files {
		if err := w.WriteHeader(&tar.Header{Name: "millrace-support/" + file.name, Mode: 0o600, Size: int64(len(file.text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(w, file.text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

// lastOctets is how much of a log is taken.
const lastOctets = 4 << 20

// end is the last part of a file, from the beginning of a line on.
func end(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-lastOctets)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, lastOctets))
	if from > 0 {
		_, rest, _ := strings.Cut(string(raw), "\n")
		raw = []byte(rest)
	}
	return raw, err
}

// secretsKnown are those on this host that have no form of their own: the contents of files that the
// configurations name, and the tokens of the user.
func secretsKnown(x examination) (all []string) {
	all = append(all, os.Getenv(tokenVariable))
	if path, err := tokensFile(); err == nil {
		saved := map[string]string{}
		if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &saved) == nil {
			for _, token := range saved {
				all = append(all, token)
			}
		}
	}
	for _, file := range []string{x.config, x.agent, inventoryOf(x.config)} {
		raw, err := os.ReadFile(file)
		var tree any
		if err != nil || yaml.Unmarshal(raw, &tree) != nil {
			continue
		}
		all = append(all, secretsOf(tree, filepath.Dir(file))...)
	}
	return all
}

// inFile are names of settings whose value is a file with a secret.
var inFile = regexp.MustCompile(`(password|secret|token|key)s?(_file)?$`)

// secretsOf are the values of settings that are secrets, and the lines of files that settings name.
func secretsOf(tree any, folder string) (all []string) {
	switch v := tree.(type) {
	case map[string]any:
		for name, value := range v {
			text, is := value.(string)
			if !is || !inFile.MatchString(name) {
				all = append(all, secretsOf(value, folder)...)
				continue
			}
			all = append(all, valueOrContent(text, folder)...)
		}
	case []any:
		for _, value := range v {
			all = append(all, secretsOf(value, folder)...)
		}
	}
	return all
}

// leastWord is how long a word of a file must be to be a secret by itself.
const leastWord = 16

// valueOrContent are the lines and long words of the file that a setting names; where there is none, it is the setting.
func valueOrContent(setting, folder string) (all []string) {
	raw, err := os.ReadFile(under(folder, setting))
	if err != nil {
		return []string{setting}
	}
	for line := range strings.Lines(string(raw)) {
		all = append(all, strings.TrimSpace(line))
		for _, word := range strings.Fields(line) {
			if len(word) >= leastWord {
				all = append(all, word)
			}
		}
	}
	return all
}

// under is a file that a setting names relative to a folder.
func under(folder, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}
