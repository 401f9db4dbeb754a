package routeragent_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dump is everything the agent can change in the kernel: what the commands of
// iproute2 show, and the contents of the classifier's maps, as bpftool reads
// them. Counters of hits are left out.
func (x *target) dump() string {
	x.Helper()
	out := x.router.Dump()
	seen := map[int]bool{}
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

func (x *target) maps(prog int, seen map[int]bool) string {
	var p struct {
		MapIDs []int `json:"map_ids"`
	}
	x.bpftool(&p, "prog", "show", "id", strconv.Itoa(prog))
	var out []string
	for _, id := range p.MapIDs {
		if !seen[id] {
			seen[id] = true
			out = append(out, x.oneMap(id))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// oneMap is a line per map: name, entries, digest; maps inside of a map are read too.
func (x *target) oneMap(id int) string {
	var m struct{ Name, Type string }
	x.bpftool(&m, "map", "show", "id", strconv.Itoa(id))
	if strings.HasPrefix(m.Name, "te_hits") || strings.Contains(m.Name, "rodata") {
		return ""
	}
	var entries []struct{ Key, Value []string }
	x.bpftool(&entries, "map", "dump", "id", strconv.Itoa(id))
	lines := make([]string, 0, len(entries))
	for _, e := range entries {
		value := strings.Join(e.Value, "")
		if strings.HasSuffix(m.Type, "_of_maps") {
			value = x.oneMap(inner(e.Value))
		}
		lines = append(lines, strings.Join(e.Key, "")+"="+value)
	}
	slices.Sort(lines)
	return fmt.Sprintf("map %s: %d entries, %x\n", m.Name, len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

func (x *target) bpftool(into any, args ...string) {
	x.Helper()
	raw := x.router.Run(append([]string{"bpftool", "-j"}, args...)...)
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		x.Fatalf("bpftool %s: %v: %.200s", strings.Join(args, " "), err, raw)
	}
}

// inner is the id of a map inside of a map: four octets, lowest first.
func inner(value []string) int {
	id := 0
	for i, octet := range value {
		n, _ := strconv.ParseUint(octet, 0, 8)
		id |= int(n) << (8 * i)
	}
	return id
}
