package worker

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"
)

// packet is what the kernel has of one from an address: an IP header, and nothing else that is looked at.
func packet(from netip.Addr) []byte {
	if from.Is4() {
		p := make([]byte, 28)
		p[0] = 0x45
		copy(p[12:], from.AsSlice())
		return p
	}
	p := make([]byte, 48)
	binary.BigEndian.PutUint32(p, 0x6fffffff) // with a traffic class and a flow label
	copy(p[8:], from.AsSlice())
	return p
}

// addresses are some of a kind in which exporters' addresses are: in a row, of one site each, and of anywhere.
func addresses() map[string][]netip.Addr {
	out := map[string][]netip.Addr{}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 256 {
		b := byte(i)
		v6 := netip.MustParseAddr("2001:db8::1").As16()
		far := v6
		v6[15], far[4] = b, b
		var anywhere, any6 [16]byte
		for j := range any6 {
			anywhere[j], any6[j] = byte(random.Uint32()), byte(random.Uint32())
		}
		for name, a := range map[string]netip.Addr{
			"IPv4 in a row":        netip.AddrFrom4([4]byte{192, 0, 2, b}),
			"IPv4, a third octet":  netip.AddrFrom4([4]byte{10, 0, b, 1}),
			"IPv4, a second octet": netip.AddrFrom4([4]byte{10, b, 0, 1}),
			"IPv4, a first octet":  netip.AddrFrom4([4]byte{b, 0, 0, 1}),
			"IPv4 of anywhere":     netip.AddrFrom4([4]byte(anywhere[:4])),
			"IPv6 in a row":        netip.AddrFrom16(v6),
			"IPv6, a prefix each":  netip.AddrFrom16(far),
			"IPv6 of anywhere":     netip.AddrFrom16(any6),
		} {
			out[name] = append(out[name], a)
		}
	}
	return out
}

// TestTheKernelChoosesAsTheTableDoes: the program, in another implementation of the machine, agrees with the function.
func TestTheKernelChoosesAsTheTableDoes(t *testing.T) {
	for workers := 1; workers <= 64; workers++ {
		vm, err := bpf.NewVM(program(workers, 0))
		if err != nil {
			t.Fatal(err)
		}
		for name, all := range addresses() {
			for _, a := range all {
				got, err := vm.Run(packet(a))
				if want := Of(a, workers); err != nil || got != want {
					t.Fatalf("%s: the program says %d (%v) of %s among %d workers, the function %d", name, got, err, a, workers, want)
				}
			}
		}
	}
}

// TestTheProgramIsOneForTheKernel: it can be assembled, and reads behind the network header alone.
func TestTheProgramIsOneForTheKernel(t *testing.T) {
	here, there := program(7, 0), Program(7)
	if _, err := bpf.Assemble(there); err != nil {
		t.Fatal(err)
	}
	for i, in := range here {
		if load, ok := in.(bpf.LoadAbsolute); ok {
			load.Off -= 0x100000
			in = load
		}
		if in != there[i] {
			t.Errorf("instruction %d is %v, want %v", i, there[i], in)
		}
	}
}

// TestEveryWorkerHasItsShare of exporters, whatever they have in common: no more than twice the mean.
func TestEveryWorkerHasItsShare(t *testing.T) {
	for name, all := range addresses() {
		for _, workers := range []int{2, 3, 4, 8, 16} {
			counts := make([]int, workers)
			for _, a := range all {
				counts[Of(a, workers)]++
			}
			for w, n := range counts {
				if n == 0 || n > 2*len(all)/workers {
					t.Errorf("%s: worker %d of %d has %d of %d exporters", name, w, workers, n, len(all))
				}
			}
		}
	}
}

// TestAMappedAddressIsItsIPv4Address, as which it comes to a socket of both families.
func TestAMappedAddressIsItsIPv4Address(t *testing.T) {
	for i := range 256 {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		if Of(a, 5) != Of(netip.AddrFrom16(a.As16()), 5) {
			t.Errorf("%s and its mapped address have different workers", a)
		}
	}
}
