package datapath

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/bpf"
)

// memory is the arrays shared with the programs. Every field is an aligned word
// that one side writes whole, so the other never sees half of it.
type memory struct {
	mapped  [][]byte
	control *bpf.PeControl
	Flows   []bpf.PeFlow
	Rates   []bpf.PeRate
	echoes  []bpf.PeEcho
	Arrived []bpf.PeReceived
}

func (d *Datapath) mapMemory(flows int) (err error) {
	control, e0 := shared[bpf.PeControl](&d.memory, d.ControlMap, 1)
	var e1, e2, e3, e4 error
	d.Flows, e1 = shared[bpf.PeFlow](&d.memory, d.FlowMap, flows)
	d.Rates, e2 = shared[bpf.PeRate](&d.memory, d.RateMap, flows)
	d.echoes, e3 = shared[bpf.PeEcho](&d.memory, d.EchoMap, flows)
	d.Arrived, e4 = shared[bpf.PeReceived](&d.memory, d.ReceivedMap, flows)
	if err := errors.Join(e0, e1, e2, e3, e4); err != nil {
		return err
	}
	d.control = &control[0]
	return nil
}

// shared maps an array map into memory.
func shared[T any](m *memory, from *ebpf.Map, n int) ([]T, error) {
	var zero T
	page := os.Getpagesize()
	size := (n*int(unsafe.Sizeof(zero)) + page - 1) / page * page
	raw, err := unix.Mmap(from.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s into memory: %w", from, err)
	}
	m.mapped = append(m.mapped, raw)
	return unsafe.Slice((*T)(unsafe.Pointer(&raw[0])), n), nil
}

func (m *memory) unmap() (err error) {
	for _, raw := range m.mapped {
		err = errors.Join(err, unix.Munmap(raw))
	}
	*m = memory{}
	return err
}

// Echo is the latest answer of a flow; ok is false where there is none or it is being written.
func (m *memory) Echo(slot uint32) (e bpf.PeEcho, ok bool) {
	p := &m.echoes[slot]
	for range 4 {
		e.End = atomic.LoadUint64(&p.End)
		e.Sent, e.Received, e.ReceivedOctets = atomic.LoadUint64(&p.Sent), atomic.LoadUint64(&p.Received), atomic.LoadUint64(&p.ReceivedOctets)
		e.Rtt, e.At, e.Probe = atomic.LoadUint64(&p.Rtt), atomic.LoadUint64(&p.At), atomic.LoadUint64(&p.Probe)
		e.Begin = atomic.LoadUint64(&p.Begin)
		if e.Begin == e.End {
			return e, e.End != 0
		}
	}
	return e, false
}

// Cost turns a rate into nanoseconds per byte as pe.c counts them; 0 stays "not controlled".
func Cost(bytesPerSecond float64) uint64 {
	if bytesPerSecond <= 0 {
		return 0
	}
	return max(uint64(1e9*(1<<16)/bytesPerSecond), 1)
}

// SetRate sets a flow's rate and the bound of its queue in nanoseconds; 0 bytes per second is not controlled.
func (m *memory) SetRate(slot uint32, bytesPerSecond float64, limit uint64) {
	r := &m.Rates[slot]
	atomic.StoreUint64(&r.Limit, limit)
	atomic.StoreUint64(&r.Cost, Cost(bytesPerSecond))
}

// Retime makes a flow's clock follow a change of rate from one cost to another:
// what waits in an HTB class leaves at the new rate. (What waits in fq has its
// departure time already.)
func (m *memory) Retime(slot uint32, from, to uint64) {
	p := &m.Flows[slot].Next
	for {
		next := atomic.LoadUint64(p)
		if then := Retimed(next, Now(), from, to); then == next || atomic.CompareAndSwapUint64(p, next, then) {
			return
		}
	}
}

// Retimed is when a packet leaves an HTB class whose rate changes from one cost to another; it would have left at a time.
func Retimed(at, now, from, to uint64) uint64 {
	if from == 0 || to == 0 || at <= now {
		return at
	}
	return now + uint64(float64(at-now)*float64(to)/float64(from))
}

// KeepAlive says until when (CLOCK_MONOTONIC, ns) the agent vouches for the rates.
func (m *memory) KeepAlive(until uint64) { atomic.StoreUint64(&m.control.AliveUntil, until) }

// Configure writes what holds for all flows.
func (m *memory) Configure(c bpf.PeControl) {
	c.AliveUntil = atomic.LoadUint64(&m.control.AliveUntil)
	*m.control = c
}

// Now is the clock of the programs.
func Now() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail on Linux
	return uint64(t.Sec)*1e9 + uint64(t.Nsec)
}

// Memory is what the maps take of the kernel, in bytes, as it accounts for them.
func (d *Datapath) Memory() (sum uint64, err error) {
	for _, m := range []*ebpf.Map{d.ControlMap, d.Keys, d.FlowMap, d.RateMap, d.EchoMap, d.ReceivedMap, d.Ports, d.Prefixes, d.Prefixes6, d.Peers, d.Counts} {
		info, err := m.Info()
		if err != nil {
			return 0, fmt.Errorf("ask for the size of a map: %w", err)
		}
		bytes, ok := info.Memlock()
		if !ok {
			return 0, fmt.Errorf("this kernel does not say how large %s is", m)
		}
		sum += bytes
	}
	return sum, nil
}
