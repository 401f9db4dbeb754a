package peagent

import (
	"fmt"

	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/datapath"
)

// freeIndex is one that no flow has, or had and does not need any more.
func (a *Agent) freeIndex() (uint32, error) {
	if a.nextIndex < uint32(a.cfg.Flows) {
		a.nextIndex++
		return a.nextIndex - 1, nil
	}
	if len(a.reg.free) == 0 {
		if err := a.release(); err != nil {
			return 0, err
		}
	}
	last := len(a.reg.free) - 1
	if last < 0 {
		return 0, fmt.Errorf("more than %d VPN flows: raise `flows` and start again after millrace pe --remove", a.cfg.Flows)
	}
	i := a.reg.free[last]
	a.reg.free = a.reg.free[:last]
	return i, nil
}

// release frees the indices of flows to which no prefix leads, those of an earlier agent included. It reads the tables,
// so it is done at most once for each change of a VPN's routes.
func (a *Agent) release() error {
	if a.reg.released {
		return nil
	}
	a.reg.released = true
	pinned, err := a.dp.Pinned()
	if err != nil {
		return fmt.Errorf("look for VPN flows without prefixes: %w", err)
	}
	led := map[uint32]bool{}
	for _, prefixes := range pinned.Prefixes {
		for _, index := range prefixes {
			led[index] = true
		}
	}
	peers := map[bpf.PePeer]uint32{}
	var k bpf.PePeer
	var i uint32
	it := a.dp.Peers.Iterate()
	for it.Next(&k, &i) {
		peers[k] = i
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("look for VPN flows without prefixes: %w", err)
	}
	for k, i := range peers {
		if led[i] {
			continue
		}
		if err := a.forget(k, i); err != nil {
			return err
		}
	}
	return nil
}

// forget ends a flow. Answers that are under way are to lower sequence numbers than those of the next flow.
func (a *Agent) forget(k bpf.PePeer, index uint32) error {
	if err := a.dp.RemovePeer(k.Vpn, datapath.Address(k.Pe)); err != nil {
		return fmt.Errorf("remove a VPN flow: %w", err)
	}
	delete(a.pinned, k)
	for key, i := range a.reg.indices {
		if i == index {
			delete(a.reg.indices, key)
		}
	}
	if int(index) < len(a.reg.flows) {
		a.reg.flows[index] = vpnFlow{}
	}
	a.dp.SetRate(index, 0, 0)
	for _, s := range a.schedulers {
		s.SetRate(index, 0)
	}
	a.reg.free = append(a.reg.free, index)
	return nil
}
