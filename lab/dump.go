package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// BPFObjects is the key of Dump for what the routers' kernel holds once: BPF
// programs, maps and pins belong to no network namespace.
const BPFObjects = "bpf"

// dumpScript prints one section after the other. It is one command per router, and reads only ports with a
// qdisc that can have classes or filters, because starting programs is slow there.
const dumpScript = `
section() { echo "== $*"; }
section links;      ip -br link
section qdiscs;     tc qdisc show
for d in $(tc qdisc show | grep -vE '^qdisc (tbf|noqueue|pfifo|bfifo|pfifo_fast|fq|fq_codel) ' | sed 's/.* dev \([^ ]*\).*/\1/' | sort -u); do
  section classes $d; tc class show dev $d
  section filters $d; tc filter show dev $d; tc filter show dev $d ingress 2>/dev/null; tc filter show dev $d egress 2>/dev/null
done
section rules;      ip rule; ip -6 rule 2>/dev/null
section routes;     ip -o route show table all
section mpls;       ip -o -f mpls route 2>/dev/null
section nexthops;   ip -j nexthop
section frr;        vtysh -N "$1" -c 'show running-config'
section sr-te;      vtysh -N "$1" -c 'show sr-te policy' 2>&1
`

const bpfScript = `
echo "== programs"; bpftool -j prog show
echo "== maps";     bpftool -j map show
echo "== pins";     find /sys/fs/bpf -mindepth 1 | sort
`

// Dump reads the state of every router's kernel and FRR as text, without
// counters, timers and numbers that the kernel hands out anew each time, so that
// two dumps of the same state are the same bytes.
func (l *Lab) Dump(ctx context.Context) (map[string]string, error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	dump, failures := map[string]string{}, []error{}
	take := func(key, node, script string, normalise func(string) (string, error)) {
		text, err := l.Capture(ctx, node, "sh", "-c", script, "dump", key)
		if err == nil {
			text, err = normalise(text)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failures = append(failures, fmt.Errorf("dump %s: %w", key, err))
		}
		dump[key] = text
	}
	for _, r := range l.Scenario.Routers {
		wait.Go(func() { take(r.Name, r.Name, dumpScript, normaliseRouter) })
	}
	wait.Go(func() { take(BPFObjects, "", bpfScript, normaliseBPF) })
	wait.Wait()
	if len(failures) > 0 {
		return nil, failures[0]
	}
	return dump, nil
}

// DumpSettled dumps until it finds what was there before, or for ten seconds: FRR takes next hops
// that no route uses any more away a little later. The last dump is returned, whatever it is.
func (l *Lab) DumpSettled(ctx context.Context, before map[string]string) (map[string]string, error) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		dump, err := l.Dump(ctx)
		if err != nil || maps.Equal(dump, before) || time.Now().After(deadline) {
			return dump, err
		}
	}
}

// sections splits a dump at its "== name" lines, keeping the order.
func sections(text string) (names []string, lines map[string][]string) {
	lines = map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if name, found := strings.CutPrefix(line, "== "); found {
			names = append(names, name)
		} else if line != "" && len(names) > 0 {
			last := names[len(names)-1]
			lines[last] = append(lines[last], line)
		}
	}
	return names, lines
}

func join(names []string, lines map[string][]string) string {
	var b strings.Builder
	for _, name := range names {
		if len(lines[name]) > 0 {
			fmt.Fprintf(&b, "== %s\n%s\n", name, strings.Join(lines[name], "\n"))
		}
	}
	return b.String()
}

// What is not state: reference counts, ids the kernel or zebra count up, the
// handles from 8000: on that the kernel gives to qdiscs made without one, and
// tc's summary of a token bucket, which is computed from its other fields.
var noise = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(` refcnt \d+`), ""},
	{regexp.MustCompile(` nhid \d+`), ""},
	{regexp.MustCompile(`( bpf .*) id \d+`), "$1"},
	{regexp.MustCompile(`\b[89a-f][0-9a-f]{3}:`), "auto:"},
	{regexp.MustCompile(`@if\d+`), ""},
}

func normaliseRouter(text string) (string, error) {
	names, lines := sections(text)
	for _, name := range names {
		if name == "frr" || name == "nexthops" {
			continue
		}
		for i, line := range lines[name] {
			for _, n := range noise {
				line = n.pattern.ReplaceAllString(line, n.instead)
			}
			lines[name][i] = line
		}
	}
	// Routes come in the order of the kernel's tree or of their making.
	slices.Sort(lines["routes"])
	slices.Sort(lines["mpls"])
	hops, err := nexthops(strings.Join(lines["nexthops"], ""))
	if err != nil {
		return "", err
	}
	lines["nexthops"] = hops
	return join(names, lines), nil
}

// nexthops lists nexthop objects by their content instead of by their ids, which zebra never uses twice.
func nexthops(raw string) ([]string, error) {
	if raw == "" {
		return nil, nil
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		return nil, fmt.Errorf("read nexthops: %w", err)
	}
	text := map[any]string{}
	describe := func(hop map[string]any) string {
		var parts []string
		for key, value := range hop {
			if key != "id" && key != "group" {
				parts = append(parts, fmt.Sprintf("%s %v", key, value))
			}
		}
		slices.Sort(parts)
		return strings.Join(parts, " ")
	}
	for _, hop := range list {
		text[hop["id"]] = describe(hop)
	}
	var lines []string
	for _, hop := range list {
		line := describe(hop)
		members, _ := hop["group"].([]any)
		var group []string
		for _, m := range members {
			if m, ok := m.(map[string]any); ok {
				group = append(group, fmt.Sprintf("{%s weight %v}", text[m["id"]], m["weight"]))
			}
		}
		slices.Sort(group)
		if len(group) > 0 {
			line = strings.TrimSpace(line + " group " + strings.Join(group, " "))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, nil
}

// normaliseBPF keeps what identifies a program or map to its owner: kind, name
// and shape. Only programs of traffic control are the routers'.
func normaliseBPF(text string) (string, error) {
	names, lines := sections(text)
	for section, keys := range map[string][]string{
		"programs": {"type", "name", "tag"},
		"maps":     {"type", "name", "bytes_key", "bytes_value", "max_entries", "flags"},
	} {
		objects, err := bpfObjects(strings.Join(lines[section], ""), keys)
		if err != nil {
			return "", fmt.Errorf("read BPF %s: %w", section, err)
		}
		lines[section] = objects
	}
	return join(names, lines), nil
}

func bpfObjects(raw string, keys []string) ([]string, error) {
	if raw == "" {
		return nil, nil
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		return nil, err
	}
	var lines []string
	for _, object := range list {
		kind := fmt.Sprint(object["type"])
		if _, program := object["tag"]; program && !strings.HasPrefix(kind, "sched_") {
			continue
		}
		var parts []string
		for _, key := range keys {
			if value, ok := object[key]; ok {
				parts = append(parts, fmt.Sprintf("%s %v", key, value))
			}
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	slices.Sort(lines)
	return lines, nil
}
