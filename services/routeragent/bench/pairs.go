package main

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// loaded is a kernel with a rule set on an interface of a namespace of its own.
type loaded struct {
	*kernel.Kernel
	router *labtest.Router
	dir    string
}

func openKernel(b *bed) (*loaded, error) {
	x := &loaded{router: labtest.NewRouter(b), dir: b.TempDir()}
	var err error
	x.Kernel, err = kernel.Open(kernel.Configuration{Namespace: x.router.NS, Owned: filepath.Join(x.dir, "owned.json")}, slog.New(slog.DiscardHandler))
	if err == nil {
		b.Cleanup(x.Close)
	}
	return x, err
}

// hold makes the kernel classify what comes in on a port by these rules and none other.
func (x *loaded) hold(port string, rules []kernel.Rule) error {
	s := kernel.Spec{Policies: map[string][]kernel.Rule{"te-in": rules}, Bindings: map[string]string{port: "te-in"}}
	if err := x.Switch(s); err != nil {
		return err
	}
	return x.Verify(s)
}

// rulesOf gives every pair a rule of its own.
func rulesOf(pairs []pair) []kernel.Rule {
	out := make([]kernel.Rule, len(pairs))
	for i, p := range pairs {
		out[i] = kernel.Rule{Sequence: uint32(i + 1), Src: netip.MustParsePrefix(p.source()), Dst: netip.MustParsePrefix(p.destination()), Mark: kernel.Mark(1, 0), Counter: i % kernel.MaxRuleCounters}
	}
	return out
}

// nftFile replaces a table by one with a set of pairs, in one transaction, and a rule that classifies by it.
func nftFile(dir string, pairs []pair, interval bool) (string, error) {
	elements := make([]string, len(pairs))
	flags := ""
	for i, p := range pairs {
		elements[i] = p.source() + " . " + p.destination()
		if !interval {
			elements[i] = strings.ReplaceAll(elements[i], ".0/24", ".1")
		}
	}
	if interval {
		flags = "flags interval;"
	}
	text := fmt.Sprintf("table inet te\ndelete table inet te\ntable inet te {\n set pairs { type ipv4_addr . ipv4_addr; %s elements = { %s } }\n"+
		" chain c { type filter hook postrouting priority 0; ip saddr . ip daddr @pairs meta mark set 0x10000000; }\n}\n", flags, strings.Join(elements, ",\n"))
	file := filepath.Join(dir, fmt.Sprintf("pairs-%v-%d.nft", interval, pairs[0].generation))
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// benchPairs sets 20,000 prefix pairs at once, beside nft doing so.
func benchPairs(t *table, runs int) error {
	version, err := exec.Command("nft", "--version").Output()
	if err != nil {
		return fmt.Errorf("run nft, the peer (apt-get install nftables): %w", err)
	}
	first := t.row("millrace: 20,000 pairs into an empty kernel", "program loaded and attached, set made, swapped in, read back")
	swap := t.row("millrace: another 20,000 pairs instead", "200 of them differ")
	same := t.row("millrace: the same 20,000 pairs", "found to be there")
	ranges := t.row("nft -f: 20,000 pairs of prefixes", "ip netns exec R nft -f FILE; set { type ipv4_addr . ipv4_addr; flags interval; }; "+strings.TrimSpace(string(version)))
	again := t.row("nft -f: another 20,000 pairs instead", "the table deleted and made again in one transaction, 200 pairs differ")
	hosts := t.row("nft -f: 20,000 pairs of addresses", "a hash set without intervals: an easier problem")
	nothing := t.row("nft -f: an empty file", "what the process costs")
	for range runs {
		if err := inBed(func(b *bed) error {
			x, err := openKernel(b)
			if err != nil {
				return err
			}
			before, after := manyPairs(thousands, 0), manyPairs(thousands, 1)
			for _, s := range []struct {
				row   *row
				rules []kernel.Rule
			}{{first, rulesOf(before)}, {swap, rulesOf(after)}, {same, rulesOf(after)}} {
				if err := s.row.time(1, func() error { return x.hold("ge-a", s.rules) }); err != nil {
					return err
				}
			}
			for _, s := range []struct {
				row      *row
				pairs    []pair
				interval bool
			}{{ranges, before, true}, {again, after, true}, {hosts, before, false}} {
				file, err := nftFile(x.dir, s.pairs, s.interval)
				if err != nil {
					return err
				}
				if err := s.row.time(1, func() error { return x.nft(file) }); err != nil {
					return err
				}
			}
			return nothing.time(1, func() error { return x.nft("/dev/null") })
		}); err != nil {
			return err
		}
	}
	t.notef("nft / millrace, pairs of prefixes: %.1f into an empty kernel, %.1f replaced", ratio(ranges, first), ratio(again, swap))
	return nil
}

func (x *loaded) nft(file string) error {
	if out, err := exec.Command("ip", "netns", "exec", x.router.Name, "nft", "-f", file).CombinedOutput(); err != nil {
		return fmt.Errorf("nft -f %s: %w: %s", file, err, out)
	}
	return nil
}
