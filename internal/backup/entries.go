package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/millrace/millrace/internal/state"
)

// maxField bounds the length that a key or value of a file may claim.
const maxField = 64 << 20

func writeEntry(w io.Writer, e state.Entry) error {
	for _, field := range [][]byte{[]byte(e.Key), e.Value} {
		if _, err := w.Write(append(binary.AppendUvarint(nil, uint64(len(field))), field...)); err != nil {
			return err
		}
	}
	return nil
}

// readEntry returns io.EOF after the last one.
func readEntry(r *bufio.Reader) (e state.Entry, err error) {
	key, err := readField(r)
	if err != nil {
		return e, err
	}
	e.Key = string(key)
	if e.Value, err = readField(r); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return e, err
}

func readField(r *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if n > maxField {
		return nil, fmt.Errorf("a field of %d octets", n)
	}
	out := make([]byte, n)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return out, nil
}

// sum counts and digests what is written through it.
type sum struct {
	w      io.Writer
	octets int64
	digest hash.Hash
}

func newSum(w io.Writer) *sum { return &sum{w: w, digest: sha256.New()} }

func (s *sum) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.octets += int64(n)
	s.digest.Write(p[:n])
	return n, err
}

func (s *sum) text() string { return hex.EncodeToString(s.digest.Sum(nil)) }

// check compares a file with the manifest.
func (f File) check(folder string) error {
	if filepath.Base(f.Name) != f.Name {
		return fmt.Errorf("the manifest names %q, which is no file of the backup", f.Name)
	}
	in, err := os.Open(filepath.Join(folder, f.Name))
	if err != nil {
		return fmt.Errorf("the backup is not whole: %w", err)
	}
	defer in.Close()
	s := newSum(io.Discard)
	if _, err := io.Copy(s, in); err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	if s.octets != f.Octets || s.text() != f.SHA256 {
		return fmt.Errorf("the backup is damaged: %s has %d octets with SHA-256 %s, and the manifest has %d and %s", f.Name, s.octets, s.text(), f.Octets, f.SHA256)
	}
	return nil
}

// read unpacks a file.
func (f File) read(folder string, take func(*bufio.Reader) error) error {
	in, err := os.Open(filepath.Join(folder, f.Name))
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer in.Close()
	unpacked, err := zstd.NewReader(in)
	if err != nil {
		return fmt.Errorf("read %s of the backup: %w", f.Name, err)
	}
	defer unpacked.Close()
	if err := take(bufio.NewReader(unpacked)); err != nil {
		return fmt.Errorf("restore %s: %w", f.Name, err)
	}
	return nil
}
