package kernel

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/scratchns"
)

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
	f := Features{}
	f.tried(FeatureMPLS, minimumVersions[FeatureMPLS], probeMPLS())
	f.tried(FeatureSRv6, minimumVersions[FeatureSRv6], probeSRv6(c, l))
	queue := Queue{Class: 1, Rate: 1e8, Quantum: 1514, Buffer: 10000}
	t := tree{index: index, port: Port{Speed: 1e8, Default: 1, Queues: []Queue{queue}}}
	f.tried(FeatureHTB, minimumVersions[FeatureHTB], c.batch(t.create()...))
	for _, k := range leafKinds {
		if queue.Discipline = k.sample; k.sample != nil {
			f.tried(k.name, k.since, c.batch(t.leafQdisc(queue)...))
		}
	}
	f.tried(FeatureVXLAN, minimumVersions[FeatureVXLAN], (&Kernel{conn: c, log: discard}).addOverlay())
	f.tried(FeatureBPF, minimumVersions[FeatureBPF], probeBPF(c, index))
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
