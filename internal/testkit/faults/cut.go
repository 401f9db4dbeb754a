package faults

import (
	"fmt"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Direction is one of the two of a cable, seen from this network.
type Direction uint32

// In is what comes from the far end, Out what goes there.
const (
	In  Direction = netlink.HANDLE_MIN_INGRESS
	Out Direction = netlink.HANDLE_MIN_EGRESS
)

// Cut drops every frame in the given directions of a device until Mend, as where one fibre of two is cut. The process
// needs a network of its own (OwnNetwork).
func Cut(t testing.TB, device string, directions ...Direction) {
	t.Helper()
	if os.Getenv(within) == "" {
		t.Fatal("cables are cut in a network of the test's own only")
	}
	for _, d := range directions {
		if err := cut(device, d); err != nil {
			t.Fatalf("cut %s: %v", device, err)
		}
	}
}

func cut(device string, d Direction) error {
	const drop = 2 // TC_ACT_SHOT
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, drop), asm.Return()}})
	if err != nil {
		return fmt.Errorf("load the filter: %w", err)
	}
	defer prog.Close() // the kernel keeps it with the filter
	attrs, err := classifierOf(device)
	if err != nil {
		return err
	}
	if err := netlink.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: attrs, QdiscType: "clsact"}); err != nil {
		return fmt.Errorf("classifier: %w", err)
	}
	return netlink.FilterReplace(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: attrs.LinkIndex, Parent: uint32(d), Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL},
		Fd:          prog.FD(), Name: "cut", DirectAction: true,
	})
}

func classifierOf(device string) (netlink.QdiscAttrs, error) {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return netlink.QdiscAttrs{}, err
	}
	attrs := classifier
	attrs.LinkIndex = link.Attrs().Index
	return attrs, nil
}

// Mend ends Cut.
func Mend(t testing.TB, device string) {
	t.Helper()
	attrs, err := classifierOf(device)
	if err == nil {
		err = netlink.QdiscDel(&netlink.GenericQdisc{QdiscAttrs: attrs, QdiscType: "clsact"})
	}
	if err != nil {
		t.Fatalf("mend %s: %v", device, err)
	}
}
