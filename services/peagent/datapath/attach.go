package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	filterName = "millrace-pe"
	// The router agent's classifier has priority 1 and looks first at what core ports receive.
	filterPriority = 2
)

// Side of a port.
type Side int

// The sides.
const (
	Customer Side = iota
	Core
)

// Attach puts the programs of a side on a port. A program that is there already
// is replaced without a packet passing between the two.
func (d *Datapath) Attach(port string, side Side) error {
	l, err := netlink.LinkByName(port)
	if err != nil {
		return fmt.Errorf("find port %s: %w", port, err)
	}
	if err := clsact(l); err != nil {
		return fmt.Errorf("port %s: %w", port, err)
	}
	programs := map[uint32]*ebpf.Program{netlink.HANDLE_MIN_INGRESS: d.CustomerIn, netlink.HANDLE_MIN_EGRESS: d.CustomerOut}
	if side == Core {
		programs = map[uint32]*ebpf.Program{netlink.HANDLE_MIN_INGRESS: d.CoreIn, netlink.HANDLE_MIN_EGRESS: d.CoreOut}
	}
	for parent, p := range programs {
		err := netlink.FilterReplace(&netlink.BpfFilter{
			FilterAttrs: netlink.FilterAttrs{LinkIndex: l.Attrs().Index, Parent: parent, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: filterPriority},
			Fd:          p.FD(), Name: filterName, DirectAction: true,
		})
		if err != nil {
			return fmt.Errorf("attach to %s (it needs clsact; is there an ingress qdisc?): %w", port, err)
		}
	}
	return nil
}

// clsact makes the hooks, unless somebody has. The kernel is not asked first: it
// would list the qdiscs of all ports, and a PE has thousands.
func clsact(l netlink.Link) error {
	err := netlink.QdiscAdd(&netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add clsact (an ingress qdisc of someone else's must go first): %w", err)
	}
	return nil
}

// Detach takes the programs off a port, and clsact with them where nobody else uses it.
func Detach(port string) error {
	l, err := netlink.LinkByName(port)
	if err != nil {
		return fmt.Errorf("find port %s: %w", port, err)
	}
	others := false
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		list, err := netlink.FilterList(l, parent)
		if err != nil {
			return fmt.Errorf("list filters of %s: %w", port, err)
		}
		for _, f := range list {
			if b, ok := f.(*netlink.BpfFilter); !ok || b.Name != filterName {
				others = true
			} else if err := netlink.FilterDel(f); err != nil {
				return fmt.Errorf("detach from %s: %w", port, err)
			}
		}
	}
	if others {
		return nil
	}
	err = netlink.QdiscDel(&netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
