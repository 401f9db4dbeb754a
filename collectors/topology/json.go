package topology

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// decode reads RFC 7951 JSON. Module names before member names are cut off, so
// that structs need not know which module a leaf was augmented from.
func decode(doc []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	plain, err := json.Marshal(unqualified(tree))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return fmt.Errorf("not of the expected shape: %w", err)
	}
	return nil
}

func unqualified(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, member := range x {
			out[local(name)] = unqualified(member)
		}
		return out
	case []any:
		for i := range x {
			x[i] = unqualified(x[i])
		}
	}
	return v
}

// local is a name or identity without its module.
func local(name string) string { return name[strings.IndexByte(name, ':')+1:] }

// number is an unsigned integer; 64-bit ones are strings in RFC 7951 section 6.1.
type number uint64

func (n *number) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseUint(string(bytes.Trim(raw, `"`)), 10, 64)
	*n = number(v)
	return err
}

// uint32 caps a number at 32 bits, into which metrics, labels and indexes fit.
func (n number) uint32() uint32 { return uint32(min(n, 1<<32-1)) }
