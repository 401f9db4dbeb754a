package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/peagent/bpf"
)

// Mode is how departure times are enforced.
type Mode uint8

// The modes, as in pe.c.
const (
	EDT    Mode = 0 // fq sends each packet at its earliest departure time
	HTB    Mode = 1 // an HTB class per VPN flow
	Police Mode = 2 // no queue: packets beyond the queue limit are dropped
)

func (m Mode) String() string { return [...]string{"edt", "htb", "police"}[min(m, 2)] }

// Options of Open.
type Options struct {
	// Folder below a bpf file system where the maps are pinned; empty pins nothing.
	Folder string
	// Flows is the maximum number of VPN flows.
	Flows int
	// Prefixes is the maximum number of IPv4 prefixes of all VPNs; a fourth as many IPv6 prefixes are possible in
	// addition.
	Prefixes int
	// MarkMask has the bits of the packet mark that carry a flow index: ones from bit 0 on.
	MarkMask uint32
}

// Prefixes6 is how many IPv6 prefixes there is room for beside so many IPv4 ones.
func Prefixes6(prefixes int) int { return max(prefixes/4, 64) }

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
	FeedbackMap *ebpf.Map `ebpf:"pe_feedback"`
	ReceivedMap *ebpf.Map `ebpf:"pe_received"`
	Ports       *ebpf.Map `ebpf:"pe_ports"`
	Prefixes    *ebpf.Map `ebpf:"pe_prefixes"`
	Prefixes6   *ebpf.Map `ebpf:"pe_prefixes6"`
	Peers       *ebpf.Map `ebpf:"pe_peers"`
	Counts      *ebpf.Map `ebpf:"pe_counts"`
}

// Datapath holds the loaded programs and their maps.
type Datapath struct {
	objects
	memory
	// Adopted: the pinned maps of an earlier agent were taken over.
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
	for _, name := range []string{bpf.PeMapPeFlows, bpf.PeMapPeRates, bpf.PeMapPeFeedback, bpf.PeMapPeReceived, bpf.PeMapPePeers} {
		spec.Maps[name].MaxEntries = uint32(o.Flows)
	}
	spec.Maps[bpf.PeMapPePrefixes].MaxEntries = uint32(max(o.Prefixes, 1))
	spec.Maps[bpf.PeMapPePrefixes6].MaxEntries = uint32(Prefixes6(o.Prefixes))
	options := &ebpf.CollectionOptions{}
	d := &Datapath{}
	if o.Folder != "" {
		if err := os.MkdirAll(o.Folder, 0o700); err != nil {
			return nil, fmt.Errorf("make folder for pinned maps (is a bpf file system mounted on /sys/fs/bpf?): %w", err)
		}
		if err := checkForm(o.Folder); err != nil {
			return nil, err
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
			return nil, fmt.Errorf("the maps pinned in %s have another size or version; remove the datapath (millrace pe --remove) and start again: %w",
				o.Folder, err)
		}
		return nil, featurePrograms.unsupported(err)
	}
	err = d.mapMemory(o.Flows)
	if err == nil && o.Folder != "" {
		err = noteForm(o.Folder)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close closes programs and maps; those that are attached or pinned stay in the kernel.
func (d *Datapath) Close() error {
	err := d.unmap()
	for _, p := range d.programs() {
		err = errors.Join(err, p.Close())
	}
	for _, m := range d.maps() {
		err = errors.Join(err, m.Close())
	}
	return err
}

func (o *objects) programs() []*ebpf.Program {
	return []*ebpf.Program{o.CustomerIn, o.CustomerOut, o.CoreIn, o.CoreOut}
}

func (o *objects) maps() []*ebpf.Map {
	return []*ebpf.Map{
		o.ControlMap, o.Keys, o.FlowMap, o.RateMap, o.FeedbackMap, o.ReceivedMap, o.Ports, o.Prefixes, o.Prefixes6, o.Peers, o.Counts,
	}
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
