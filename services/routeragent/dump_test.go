package routeragent_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// dump is everything the agent can change in the kernel: what the commands of
// iproute2 show, and the octets in the classifier's maps. Counters of hits are left out.
func (x *target) dump() string {
	x.Helper()
	out := x.router.Dump()
	seen := map[ebpf.MapID]bool{}
	for _, port := range []string{"ge-a", "ge-b"} {
		for _, hook := range []string{"ingress", "egress"} {
			for _, prog := range x.programs(port, hook) {
				out += x.maps(prog, seen)
			}
		}
	}
	return out
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

func (x *target) maps(prog int, seen map[ebpf.MapID]bool) string {
	x.Helper()
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(prog))
	if err != nil {
		x.Fatalf("program %d: %v", prog, err)
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		x.Fatalf("program %d: %v", prog, err)
	}
	ids, _ := info.MapIDs()
	var out []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, x.oneMap(id))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// oneMap is a line per map: name, entries, digest; maps inside of a map are read too.
func (x *target) oneMap(id ebpf.MapID) string {
	x.Helper()
	m, err := ebpf.NewMapFromID(id)
	if err != nil {
		x.Fatalf("map %d: %v", id, err)
	}
	defer m.Close()
	info, err := m.Info()
	if err != nil {
		x.Fatalf("map %d: %v", id, err)
	}
	if strings.HasPrefix(info.Name, "te_hits") || strings.Contains(info.Name, "rodata") {
		return ""
	}
	var lines []string
	var key, value []byte
	entries := m.Iterate()
	for entries.Next(&key, &value) {
		line := string(value)
		if info.Type == ebpf.ArrayOfMaps || info.Type == ebpf.HashOfMaps {
			line = x.oneMap(ebpf.MapID(binary.NativeEndian.Uint32(value)))
		}
		lines = append(lines, string(key)+"="+line)
	}
	if err := entries.Err(); err != nil {
		x.Fatalf("map %s: %v", info.Name, err)
	}
	slices.Sort(lines)
	return fmt.Sprintf("map %s: %d entries, %x\n", info.Name, len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}
