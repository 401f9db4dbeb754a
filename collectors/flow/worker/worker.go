// Package worker says which worker of the flow collector takes the datagrams of an exporter: the same one for one
// address, whatever port it sends from.
//
// In: an exporter's address, or a packet, and the number of workers. Out: the worker's number, as a function and as the
// program by which the kernel chooses among the sockets of one port. Next: collectors/flow/exporter, whose table has a
// part for each worker, and collectors/flow, which gives the program to the kernel.
//
// Mutation testing: 15 of 15 killed (docs/reference/mutants.md).
package worker

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
)

const (
	// multiplier is 2^32 divided by the golden ratio, so that addresses in a row come to all workers.
	multiplier = 0x9E3779B1
	// fold is by how many bits the upper half of a word is moved onto the lower one.
	fold = 16
)

// Of is the worker of an exporter's address, from 0 to below workers.
func Of(address netip.Addr, workers int) int {
	if workers == 1 {
		return 0
	}
	raw := address.Unmap().AsSlice()
	h := uint32(0)
	for i := 0; i < len(raw); i += 4 {
		h = (h ^ binary.BigEndian.Uint32(raw[i:])) * multiplier
	}
	h = (h ^ h>>fold) * multiplier
	return int(h >> fold % uint32(workers))
}

// networkHeader is where the kernel has the packet's IP header for a classic BPF program (SKF_NET_OFF). Offset 0 is the
// UDP payload, for a program that chooses a socket.
const networkHeader = -0x100000

// Places of the source address in both headers, in words.
var (
	sourceV4 = []int{12}
	sourceV6 = []int{8, 12, 16, 20}
)

// Program chooses the socket of a packet as Of does, by its number in the order in which the sockets were bound
// (SO_ATTACH_REUSEPORT_CBPF, socket(7)).
func Program(workers int) []bpf.Instruction { return program(workers, networkHeader) }

// program is one for packets whose IP header is at an offset.
func program(workers, header int) []bpf.Instruction {
	v4, v6 := hash(sourceV4, header), hash(sourceV6, header)
	all := []bpf.Instruction{
		bpf.LoadAbsolute{Off: uint32(header), Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 6, SkipFalse: uint8(len(v6) + 1)},
	}
	all = append(all, v6...)
	all = append(all, bpf.Jump{Skip: uint32(len(v4))})
	all = append(all, v4...)
	return append(all,
		bpf.TAX{},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: fold},
		bpf.ALUOpX{Op: bpf.ALUOpXor},
		bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: multiplier},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: fold},
		bpf.ALUOpConstant{Op: bpf.ALUOpMod, Val: uint32(workers)},
		bpf.RetA{},
	)
}

// hash leaves the words' hash in the accumulator.
func hash(places []int, header int) []bpf.Instruction {
	all := []bpf.Instruction{bpf.LoadConstant{Dst: bpf.RegA, Val: 0}}
	for _, place := range places {
		all = append(all,
			bpf.TAX{},
			bpf.LoadAbsolute{Off: uint32(header + place), Size: 4},
			bpf.ALUOpX{Op: bpf.ALUOpXor},
			bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: multiplier},
		)
	}
	return all
}
