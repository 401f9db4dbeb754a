package management

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/secretfile"
)

// MaxKeys is how many keys can be valid at a time.
const MaxKeys = 8

// Key is 128 bits. It prints as stars.
type Key struct{ k0, k1 uint64 }

// String implements fmt.Stringer.
func (Key) String() string { return "***" }

// Words are the key as two 64-bit words, as in the key map.
func (k Key) Words() [2]uint64 { return [2]uint64{k.k0, k.k1} }

// Keyring has the keys of a domain by number. All are accepted, one signs.
//
// Rotation without a lost packet: add the new key as second line on all PEs, then move it to the first line on all,
// then remove the old one.
type Keyring struct {
	keys  map[uint8]Key
	Signs uint8
}

// Find returns a key.
func (r *Keyring) Find(id uint8) (Key, bool) {
	k, ok := r.keys[id]
	return k, ok
}

// Signing returns the key that signs and its number.
func (r *Keyring) Signing() (uint8, Key) { return r.Signs, r.keys[r.Signs] }

// LoadKeys reads a file of lines "NUMBER 32-HEX-DIGITS", numbers from 0 to 7. The key of the first line signs.
func LoadKeys(path string) (*Keyring, error) {
	raw, err := secretfile.Text(path)
	if err != nil {
		return nil, fmt.Errorf("read keys of management packets (make one with: umask 077; echo \"0 $(openssl rand -hex 16)\"): %w", err)
	}
	r, err := ParseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("keys in %s: %w", path, err)
	}
	return r, nil
}

// ParseKeys reads the text of a key file. Errors never show a key.
func ParseKeys(text []byte) (*Keyring, error) {
	r := &Keyring{keys: map[uint8]Key{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: write a number and 32 hexadecimal digits", n)
		}
		id, err := strconv.ParseUint(fields[0], 10, 8)
		if err != nil || id >= MaxKeys {
			return nil, fmt.Errorf("line %d: the number goes from 0 to %d", n, MaxKeys-1)
		}
		raw, err := hex.DecodeString(fields[1])
		if err != nil || len(raw) != 16 {
			return nil, fmt.Errorf("line %d: a key is 32 hexadecimal digits", n)
		}
		if _, twice := r.keys[uint8(id)]; twice {
			return nil, fmt.Errorf("line %d: key %d is listed twice", n, id)
		}
		if len(r.keys) == 0 {
			r.Signs = uint8(id)
		}
		r.keys[uint8(id)] = Key{binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])}
	}
	if len(r.keys) == 0 {
		return nil, fmt.Errorf("no key")
	}
	return r, nil
}
