package faults

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/child"
)

// within is set in a process of OwnNetwork.
const within = "MILLRACE_TEST_OWN_NETWORK"

// OwnNetwork runs this program once more, with the same arguments, in network and mount namespaces that no
// other process uses, with nothing but a loopback interface, and returns its exit code. In that second
// process it returns false: go on.
func OwnNetwork() (code int, ran bool, err error) {
	if os.Getenv(within) != "" {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return 1, false, err
		}
		return 0, false, netlink.LinkSetUp(lo)
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), within+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	ended, err := child.Start(cmd)
	if err != nil {
		return 1, true, fmt.Errorf("a network namespace of its own, which takes root: %w", err)
	}
	<-ended
	return max(cmd.ProcessState.ExitCode(), -cmd.ProcessState.ExitCode()), true, nil
}

// classifier is where Lose puts its filter; there is one at a time.
var classifier = netlink.QdiscAttrs{Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}

// Lose drops a share of the packets to and from a TCP address of the loopback, at random, until StopLosing. The process
// needs a network of its own (OwnNetwork).
func Lose(t testing.TB, address string, share float64) {
	t.Helper()
	if os.Getenv(within) == "" {
		t.Fatal("packets are lost in a network of the test's own only")
	}
	if err := lose(netip.MustParseAddrPort(address), share); err != nil {
		t.Fatal(err)
	}
}

func lose(address netip.AddrPort, share float64) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: losing(address, share)})
	if err != nil {
		return fmt.Errorf("load the filter that loses packets: %w", err)
	}
	defer prog.Close() // the kernel keeps it with the filter
	attrs, err := classifierOf("lo")
	if err != nil {
		return err
	}
	if err := netlink.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: attrs, QdiscType: "clsact"}); err != nil {
		return fmt.Errorf("classifier of the loopback: %w", err)
	}
	return netlink.FilterReplace(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: attrs.LinkIndex, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL},
		Fd:          prog.FD(), Name: "lose", DirectAction: true,
	})
}

// losing is the filter: of what comes in from or for the address, a share is dropped. On the loopback a packet begins
// with an Ethernet header, and its IP header has no options.
func losing(address netip.AddrPort, share float64) asm.Instructions {
	ip, port := address.Addr().As4(), int32(address.Port())
	host := int32(binary.BigEndian.Uint32(ip[:]))
	const source, destination, sourcePort, destinationPort = 26, 30, 34, 36
	const drop, pass = 2, 0 // TC_ACT_SHOT, TC_ACT_OK
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1), // where LoadAbs looks for the packet
		asm.LoadAbs(destination, asm.Word),
		asm.JNE.Imm32(asm.R0, host, "from"),
		asm.LoadAbs(destinationPort, asm.Half),
		asm.JEq.Imm32(asm.R0, port, "dice"),
		asm.LoadAbs(source, asm.Word).WithSymbol("from"),
		asm.JNE.Imm32(asm.R0, host, "pass"),
		asm.LoadAbs(sourcePort, asm.Half),
		asm.JNE.Imm32(asm.R0, port, "pass"),
		asm.FnGetPrandomU32.Call().WithSymbol("dice"),
		asm.And.Imm(asm.R0, 1<<20-1),
		asm.JGE.Imm(asm.R0, int32(share*(1<<20)), "pass"),
		asm.Mov.Imm(asm.R0, drop),
		asm.Return(),
		asm.Mov.Imm(asm.R0, pass).WithSymbol("pass"),
		asm.Return(),
	}
}

// StopLosing ends Lose.
func StopLosing(t testing.TB) {
	t.Helper()
	Mend(t, "lo")
}
