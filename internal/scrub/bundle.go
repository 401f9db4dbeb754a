package scrub

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
)

// Bundle is files for others. Every name and text in it has been through Text.
type Bundle struct {
	Files []File
	known []string
}

// File is one of a bundle.
type File struct{ Name, Text string }

// NewBundle returns an empty one; known are secrets that have no form.
func NewBundle(known []string) *Bundle { return &Bundle{known: known} }

// Add adds a text without its secrets, or why there is none.
func (b *Bundle) Add(name string, raw []byte, err error) {
	text := string(raw)
	if err != nil {
		name, text = name+".missing", err.Error()+"\n"
	}
	b.Files = append(b.Files, File{Text(name, b.known), Text(text, b.known)})
}

// AddJSON adds a value.
func (b *Bundle) AddJSON(name string, v any) {
	raw, err := json.MarshalIndent(v, "", "  ")
	b.Add(name, raw, err)
}

// AddYAML adds a file that has settings.
func (b *Bundle) AddYAML(name, file string) {
	raw, err := os.ReadFile(file)
	clean := ""
	if err == nil {
		clean, err = YAML(raw, b.known)
	}
	b.Add(name, []byte(clean), err)
}

// lastOctets is how much of a log is taken.
const lastOctets = 4 << 20

// AddEnd adds the last 4 MiB of a log, from the beginning of a line on.
func (b *Bundle) AddEnd(name, file string) {
	raw, err := end(file, lastOctets)
	b.Add(name, raw, err)
}

func end(file string, octets int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-octets)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, octets))
	if from > 0 {
		_, rest, _ := strings.Cut(string(raw), "\n")
		raw = []byte(rest)
	}
	return raw, err
}

// Write writes a .tar.gz, whose files are below a folder.
func (b *Bundle) Write(to io.Writer, folder string) error {
	z := gzip.NewWriter(to)
	w := tar.NewWriter(z)
	for _, file := range b.Files {
		if err := w.WriteHeader(&tar.Header{Name: folder + "/" + file.Name, Mode: 0o600, Size: int64(len(file.Text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(w, file.Text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}
