// Package bpfmap reads and writes entries of eBPF maps, and waits for the kernel where it only has none ready.
//
// In: keys and values, or a map. Out: entries. Next: services/routeragent/kernel and services/peagent/datapath.
package bpfmap

import (
	"errors"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A hash without preallocation takes its entries from a small cache of each processor, which the kernel refills in the
// background (kernel/bpf/memalloc.c), in User-Mode Linux once per tick. An empty cache answers ENOMEM and is no lack of
// memory: refills is how often to wait for it without progress, refill how long each time.
const (
	refills = 200
	refill  = 5 * time.Millisecond
)

// Put writes one entry.
func Put(m *ebpf.Map, key, value any) error {
	return patiently(func() (bool, error) { return false, m.Put(key, value) })
}

// Fill writes entries in batches.
func Fill[K, V any](m *ebpf.Map, keys []K, values []V) error {
	if len(keys) == 0 {
		return nil
	}
	return patiently(func() (bool, error) {
		n, err := m.BatchUpdate(keys, values, nil)
		keys, values = keys[n:], values[n:]
		return n > 0, err
	})
}

// patiently tries again while the cache is empty. write reports whether it wrote something before it
// failed.
func patiently(write func() (progress bool, err error)) error {
	for waited := 0; ; waited++ {
		progress, err := write()
		if !errors.Is(err, unix.ENOMEM) || waited == refills {
			return err
		}
		if progress {
			waited = 0
		}
		time.Sleep(refill)
	}
}
