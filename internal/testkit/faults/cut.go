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

// Way is one of the two ways of a cable, seen from this network.
type Way uint32

// In is what comes from the far end, Out what goes there.
const (
	In  Way = netlink.HANDLE_MIN_INGRESS
	Out Way = netlink.HANDLE_MIN_EGRESS
)

// Cut drops every frame on the given ways of a device until Mend: nobody is told, as where a fibre is cut in one
// direction. The process needs a network of its own (OwnNetwork).
func Cut(t testing.TB, device string, ways ...Way) {
	t.Helper()
	if os.Getenv(within) == "" {
		t.Fatal("cables are cut in a network of the test's own only")
	}
	for _, w := range ways {
		if err := cut(device, w); err != nil {
			t.Fatalf("cut %s: %v", device, err)
		}
	}
}

func cut(device string, w Way) error {
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
		FilterAttrs: netlink.FilterAttrs{LinkIndex: attrs.LinkIndex, Parent: uint32(w), Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL},
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
