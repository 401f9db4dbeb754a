package routeragent_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// dump is everything the agent can change in the kernel: what the commands of
// iproute2 show, and the octets in the classifier's maps. Counters of hits are left out.
func (x *target) dump() string {
	x.Helper()
	for {
		out, err := x.look()
		switch {
		case errors.Is(err, os.ErrNotExist): // the agent has replaced a program since it was listed
		case err != nil:
			x.Fatal(err)
		default:
			return out
		}
	}
}

// look is dump, or an error of what was gone when it was to be read.
func (x *target) look() (string, error) {
	x.Helper()
	out := x.router.Dump()
	seen := map[ebpf.MapID]bool{}
	for _, port := range []string{"ge-a", "ge-b"} {
		for _, hook := range []string{"ingress", "egress"} {
			for _, prog := range x.programs(port, hook) {
				of, err := mapsOf(prog, seen)
				if err != nil {
					return "", fmt.Errorf("program %d: %w", prog, err)
				}
				out += of
			}
		}
	}
	return out, nil
}

// programs are the ids of the classifier programs on a port.
func (x *target) programs(port, hook string) []int {
	text := x.router.In("sh", "-c", "tc -j filter show dev "+port+" "+hook+" 2>/dev/null || true")
	var filters []struct {
		Options struct {
			Prog struct{ ID int }
		}
	}
	if strings.TrimSpace(text) == "" || json.Unmarshal([]byte(text), &filters) != nil {
		return nil
	}
	var out []int
	for _, f := range filters {
		if f.Options.Prog.ID > 0 {
			out = append(out, f.Options.Prog.ID)
		}
	}
	return out
}

// mapsOf are those of a program that were not seen before.
func mapsOf(prog int, seen map[ebpf.MapID]bool) (string, error) {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(prog))
	if err != nil {
		return "", err
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return "", err
	}
	ids, _ := info.MapIDs()
	var out []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			one, err := oneMap(id)
			if err != nil {
				return "", err
			}
			out = append(out, one)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ""), nil
}

// oneMap is a line per map: name, entries, digest; maps inside of a map are read too.
func oneMap(id ebpf.MapID) (string, error) {
	m, err := ebpf.NewMapFromID(id)
	if err != nil {
		return "", fmt.Errorf("map %d: %w", id, err)
	}
	defer m.Close()
	info, err := m.Info()
	if err != nil {
		return "", fmt.Errorf("map %d: %w", id, err)
	}
	if strings.HasPrefix(info.Name, "te_hits") || strings.Contains(info.Name, "rodata") {
		return "", nil
	}
	var lines []string
	var key, value []byte
	entries := m.Iterate()
	for entries.Next(&key, &value) {
		line := string(value)
		if info.Type == ebpf.ArrayOfMaps || info.Type == ebpf.HashOfMaps {
			if line, err = oneMap(ebpf.MapID(binary.NativeEndian.Uint32(value))); err != nil {
				return "", err
			}
		}
		lines = append(lines, string(key)+"="+line)
	}
	if err := entries.Err(); err != nil {
		return "", fmt.Errorf("map %s: %w", info.Name, err)
	}
	slices.Sort(lines)
	return fmt.Sprintf("map %s: %d entries, %x\n", info.Name, len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n")))), nil
}
