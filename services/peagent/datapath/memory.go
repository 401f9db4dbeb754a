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

// memory has the arrays shared with the programs. Every field is an aligned word that one side writes atomically.
type memory struct {
	mapped   [][]byte
	control  *bpf.PeControl
	Flows    []bpf.PeFlow
	Rates    []bpf.PeRate
	feedback []bpf.PeFeedback
	Received []bpf.PeReceived
}

func (d *Datapath) mapMemory(flows int) (err error) {
	control, e0 := shared[bpf.PeControl](&d.memory, d.ControlMap, 1)
	var e1, e2, e3, e4 error
	d.Flows, e1 = shared[bpf.PeFlow](&d.memory, d.FlowMap, flows)
	d.Rates, e2 = shared[bpf.PeRate](&d.memory, d.RateMap, flows)
	d.feedback, e3 = shared[bpf.PeFeedback](&d.memory, d.FeedbackMap, flows)
	d.Received, e4 = shared[bpf.PeReceived](&d.memory, d.ReceivedMap, flows)
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

// Feedback returns the latest answer of a flow; ok is false where there is none or it is being written.
func (m *memory) Feedback(flow uint32) (fb bpf.PeFeedback, ok bool) {
	p := &m.feedback[flow]
	for range 4 {
		fb.End = atomic.LoadUint64(&p.End)
		fb.Sent, fb.Received = atomic.LoadUint64(&p.Sent), atomic.LoadUint64(&p.Received)
		fb.ReceivedOctets = atomic.LoadUint64(&p.ReceivedOctets)
		fb.Rtt, fb.At, fb.Probe = atomic.LoadUint64(&p.Rtt), atomic.LoadUint64(&p.At), atomic.LoadUint64(&p.Probe)
		fb.Begin = atomic.LoadUint64(&p.Begin)
		if fb.Begin == fb.End {
			return fb, fb.End != 0
		}
	}
	return fb, false
}

// Cost converts a rate to nanoseconds per byte in the fixed point of pe.c; 0 means not controlled.
func Cost(bytesPerSecond float64) uint64 {
	if bytesPerSecond <= 0 {
		return 0
	}
	return max(uint64(1e9*(1<<16)/bytesPerSecond), 1)
}

// Rate is what Cost was made of, bytes per second; 0 means not controlled.
func Rate(cost uint64) float64 {
	if cost == 0 {
		return 0
	}
	return 1e9 * (1 << 16) / float64(cost)
}

// SetRate sets a flow's rate and its queue limit in nanoseconds; 0 bytes per second means not controlled.
func (m *memory) SetRate(flow uint32, bytesPerSecond float64, limit uint64) {
	r := &m.Rates[flow]
	atomic.StoreUint64(&r.Limit, limit)
	atomic.StoreUint64(&r.Cost, Cost(bytesPerSecond))
}

// RescaleEDT adapts a flow's earliest departure time to a change of rate from one cost to another: packets in an HTB
// class leave at the new rate. (Packets in fq keep their departure times.)
func (m *memory) RescaleEDT(flow uint32, from, to uint64) {
	p := &m.Flows[flow].NextEdt
	for {
		next := atomic.LoadUint64(p)
		if then := RescaledEDT(next, Now(), from, to); then == next || atomic.CompareAndSwapUint64(p, next, then) {
			return
		}
	}
}

// RescaledEDT is the departure time of a packet in an HTB class after a change of rate from one cost to another; at is
// the time before the change.
func RescaledEDT(at, now, from, to uint64) uint64 {
	if from == 0 || to == 0 || at <= now {
		return at
	}
	return now + uint64(float64(at-now)*float64(to)/float64(from))
}

// KeepAlive sets the time (CLOCK_MONOTONIC, ns) until which the rates are valid.
func (m *memory) KeepAlive(until uint64) { atomic.StoreUint64(&m.control.AliveUntil, until) }

// Configure writes the settings for all flows.
func (m *memory) Configure(c bpf.PeControl) {
	c.AliveUntil = atomic.LoadUint64(&m.control.AliveUntil)
	*m.control = c
}

// Now reads the clock of the programs.
func Now() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail on Linux
	return uint64(t.Sec)*1e9 + uint64(t.Nsec)
}

// Memory is the kernel memory of the maps in bytes, as the kernel accounts for it.
func (d *Datapath) Memory() (sum uint64, err error) {
	for _, m := range d.maps() {
		info, err := m.Info()
		if err != nil {
			return 0, fmt.Errorf("read the size of a map: %w", err)
		}
		bytes, ok := info.Memlock()
		if !ok {
			return 0, fmt.Errorf("this kernel does not report the size of %s", m)
		}
		sum += bytes
	}
	return sum, nil
}
