package lab

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// interfaceCounters are what the kernel counts of one end of a link.
type interfaceCounters struct {
	InPackets  uint64 `json:"in_packets"`
	InOctets   uint64 `json:"in_octets"`
	OutPackets uint64 `json:"out_packets"`
	OutOctets  uint64 `json:"out_octets"`
	// Dropped packets were refused by the interface's root qdisc, which counts those of its classes too, or by the
	// backlog of the veth's other end.
	Dropped uint64 `json:"dropped"`
}

// countInterfaces reads all interfaces of some nodes.
func countInterfaces(nodes []string) (map[string]map[string]interfaceCounters, error) {
	all := map[string]map[string]interfaceCounters{}
	for _, node := range nodes {
		err := inNamespaces(func() (err error) {
			all[node], err = readInterfaces()
			return err
		}, "/run/netns/"+node)
		if err != nil {
			return nil, fmt.Errorf("read the counters of %s: %w", node, err)
		}
	}
	return all, nil
}

// readInterfaces reads those of the calling thread's namespace.
func readInterfaces() (map[string]interfaceCounters, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	out := map[string]interfaceCounters{}
	for _, l := range links {
		a := l.Attrs()
		if a.Statistics == nil {
			continue
		}
		c := interfaceCounters{
			InPackets: a.Statistics.RxPackets, InOctets: a.Statistics.RxBytes,
			OutPackets: a.Statistics.TxPackets, OutOctets: a.Statistics.TxBytes, Dropped: a.Statistics.TxDropped,
		}
		qdiscs, err := netlink.QdiscList(l)
		if err != nil {
			return nil, fmt.Errorf("list the qdiscs of %s: %w", a.Name, err)
		}
		for _, q := range qdiscs {
			if s := q.Attrs().Statistics; q.Attrs().Parent == netlink.HANDLE_ROOT && s != nil && s.Queue != nil {
				c.Dropped += uint64(s.Queue.Drops)
			}
		}
		out[a.Name] = c
	}
	return out, nil
}
