package kernel

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/scratchns"
)

// ErrMissing means that this kernel lacks a feature a configuration needs.
var ErrMissing = errors.New("this kernel cannot do it")

// Features are what was tried and failed, by name; nil means it works.
type Features map[string]error

// Names of features.
const (
	FeatureHTB  = "htb"
	FeatureBPF  = "bpf classifier"
	FeatureMPLS = "mpls"
	FeatureSRv6 = "srv6"
	FeatureRED  = "red"
	FeatureWRED = "gred"
)

// Missing lists the features that do not work.
func (f Features) Missing() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if f[name] != nil {
			out = append(out, fmt.Sprintf("%s: %v", name, f[name]))
		}
	}
	return out
}

// Require tells whether the kernel can hold a spec.
func (f Features) Require(s Spec) error {
	need := map[string]bool{FeatureHTB: len(s.Ports) > 0, FeatureBPF: len(s.Ports)+len(s.Bindings)+len(s.Policers) > 0, FeatureMPLS: len(s.Paths) > len(s.Segments)+len(s.Groups), FeatureSRv6: len(s.Segments) > 0}
	for _, p := range s.Ports {
		for _, q := range p.Queues {
			need[FeatureRED] = need[FeatureRED] || q.kind() == "red"
			need[FeatureWRED] = need[FeatureWRED] || q.kind() == "gred"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		if err := f[name]; need[name] && err != nil {
			return fmt.Errorf("%w: %s: %w", ErrMissing, name, err)
		}
	}
	return nil
}

// Probe tries every feature once in a namespace that is thrown away.
func Probe() (Features, error) { return scratchns.Run(probeIn) }

func probeIn(ns netns.NsHandle) (Features, error) {
	c, err := dial(ns)
	if err != nil {
		return nil, err
	}
	defer c.close()
	l, err := c.LinkByName(scratchns.Port)
	if err != nil {
		return nil, err
	}
	index := l.Attrs().Index
	f := Features{FeatureMPLS: probeMPLS(), FeatureSRv6: probeSRv6(c, l)}
	queue := Queue{Class: 1, Rate: 1e8, Quantum: 1514, Buffer: 10000}
	t := tree{index: index, port: Port{Rate: 1e8, Default: 1, Queues: []Queue{queue}}}
	f[FeatureHTB] = c.batch(t.create()...)
	profile := &DropProfile{Max: 100, Probability: 100}
	queue.RED = profile
	f[FeatureRED] = c.batch(t.leafQdisc(queue)...)
	queue.RED, queue.WRED[0] = nil, profile
	f[FeatureWRED] = c.batch(t.leafQdisc(queue)...)
	f[FeatureBPF] = probeBPF(c, index)
	return f, nil
}

// probeSRv6 makes a route that encapsulates.
func probeSRv6(c *conn, l netlink.Link) error {
	if err := c.LinkSetUp(l); err != nil {
		return err
	}
	return c.RouteReplace(&netlink.Route{LinkIndex: l.Attrs().Index, Table: TableBase + 1, Dst: everywhere(unix.AF_INET6), Family: unix.AF_INET6, Encap: seg6([]netip.Addr{netip.MustParseAddr("fd00::1")})})
}

func probeMPLS() error {
	_, err := os.Stat("/proc/sys/net/mpls/platform_labels")
	return err
}

func probeBPF(c *conn, index int) error {
	if err := c.batch(newQdisc(index, clsactHdl, clsactID, "clsact", nil)); err != nil {
		return fmt.Errorf("clsact: %w", err)
	}
	dir, err := os.MkdirTemp("", "millrace-probe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o, err := readOwned(filepath.Join(dir, "owned.json"))
	if err != nil {
		return err
	}
	k := &Kernel{conn: c, owned: o, log: discard}
	k.bpf = &classifier{kernel: k}
	defer k.bpf.close()
	if err := k.bpf.open(); err != nil {
		return err
	}
	return k.bpf.attach(scratchns.Port)
}
