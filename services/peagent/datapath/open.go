package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/peagent/bpf"
)

// Mode is how departure times are kept.
type Mode uint8

// The modes, as in pe.c.
const (
	EDT    Mode = 0 // fq sends a packet at its departure time
	HTB    Mode = 1 // an HTB class per VPN flow
	Police Mode = 2 // nothing waits: what comes earlier than the queue allows is dropped
)

func (m Mode) String() string { return [...]string{"edt", "htb", "police"}[min(m, 2)] }

// Options of Open.
type Options struct {
	// Folder below a bpf file system where the maps are pinned; empty pins nothing.
	Folder string
	// Flows is the number of slots, Prefixes of IPv4 prefixes of all VPNs together; a fourth as many of IPv6 fit beside them.
	Flows, Prefixes int
	// MarkMask are the bits of the packet mark that carry a slot: ones from bit 0 on.
	MarkMask uint32
}

// objects are the programs and maps of pe.c.
type objects struct {
	CustomerIn  *ebpf.Program `ebpf:"pe_customer_in"`
	CustomerOut *ebpf.Program `ebpf:"pe_customer_out"`
	CoreIn      *ebpf.Program `ebpf:"pe_core_in"`
	CoreOut     *ebpf.Program `ebpf:"pe_core_out"`

	ControlMap  *ebpf.Map `ebpf:"pe_control"`
	Keys        *ebpf.Map `ebpf:"pe_keys"`
	FlowMap     *ebpf.Map `ebpf:"pe_flows"`
	RateMap     *ebpf.Map `ebpf:"pe_rates"`
	EchoMap     *ebpf.Map `ebpf:"pe_echoes"`
	ReceivedMap *ebpf.Map `ebpf:"pe_received"`
	Ports       *ebpf.Map `ebpf:"pe_ports"`
	Prefixes    *ebpf.Map `ebpf:"pe_prefixes"`
	Prefixes6   *ebpf.Map `ebpf:"pe_prefixes6"`
	Peers       *ebpf.Map `ebpf:"pe_peers"`
	Counts      *ebpf.Map `ebpf:"pe_counts"`
}

// Datapath is the loaded programs and their maps.
type Datapath struct {
	objects
	memory
	// Adopted tells that the maps were there already.
	Adopted bool
}

// Open loads the programs over the pinned maps, or over new ones.
func Open(o Options) (*Datapath, error) {
	if o.MarkMask == 0 || o.MarkMask&(o.MarkMask+1) != 0 || uint64(o.Flows) >= uint64(o.MarkMask)-1 {
		return nil, fmt.Errorf("mark mask %#x cannot number %d VPN flows: use ones from bit 0 on, more than flows", o.MarkMask, o.Flows)
	}
	spec, err := bpf.LoadPe()
	if err != nil {
		return nil, fmt.Errorf("read programs: %w", err)
	}
	if err := spec.Variables[bpf.PeVarMarkMask].Set(o.MarkMask); err != nil {
		return nil, fmt.Errorf("set mark mask: %w", err)
	}
	for _, name := range []string{bpf.PeMapPeFlows, bpf.PeMapPeRates, bpf.PeMapPeEchoes, bpf.PeMapPeReceived, bpf.PeMapPePeers} {
		spec.Maps[name].MaxEntries = uint32(o.Flows)
	}
	spec.Maps[bpf.PeMapPePrefixes].MaxEntries = uint32(max(o.Prefixes, 1))
	spec.Maps[bpf.PeMapPePrefixes6].MaxEntries = uint32(max(o.Prefixes/4, 64))
	options := &ebpf.CollectionOptions{}
	d := &Datapath{}
	if o.Folder != "" {
		if err := os.MkdirAll(o.Folder, 0o700); err != nil {
			return nil, fmt.Errorf("make folder for pinned maps (is a bpf file system mounted on /sys/fs/bpf?): %w", err)
		}
		options.Maps.PinPath = o.Folder
		for name, m := range spec.Maps {
			if name[0] != '.' {
				m.Pinning = ebpf.PinByName
			}
		}
		_, err := os.Stat(filepath.Join(o.Folder, bpf.PeMapPeControl))
		d.Adopted = err == nil
	}
	if err := spec.LoadAndAssign(&d.objects, options); err != nil {
		if errors.Is(err, ebpf.ErrMapIncompatible) {
			return nil, fmt.Errorf("the maps pinned in %s are of another size or version; take the datapath off (millrace pe --remove) and start again: %w", o.Folder, err)
		}
		return nil, fmt.Errorf("load programs (Linux 5.12 or newer, CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	if err := d.mapMemory(o.Flows); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close lets go of programs and maps; what is attached and pinned stays.
func (d *Datapath) Close() error {
	err := d.unmap()
	for _, c := range []interface{ Close() error }{d.CustomerIn, d.CustomerOut, d.CoreIn, d.CoreOut, d.ControlMap, d.Keys, d.FlowMap,
		d.RateMap, d.EchoMap, d.ReceivedMap, d.Ports, d.Prefixes, d.Prefixes6, d.Peers, d.Counts} {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Unpin removes the pinned maps; the kernel frees them with the last program.
func Unpin(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "pe_*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	if e := os.Remove(folder); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
