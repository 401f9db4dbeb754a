package bpfmap

import "github.com/cilium/ebpf"

// All reads every entry.
func All[K comparable, V any](m *ebpf.Map) (map[K]V, error) {
	out := map[K]V{}
	var key K
	var value V
	it := m.Iterate()
	for it.Next(&key, &value) {
		out[key] = value
	}
	return out, it.Err()
}
