package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
)

// mapsForm is what keys and values of the maps mean: that of this agent, which takes over all before it. The kernel
// compares sizes alone.
const mapsForm uint32 = 1

// formMap is pinned beside the maps of the programs, and has their form under key 0.
const formMap = "pe_form"

// ErrNewer means that a newer agent has pinned the maps.
var ErrNewer = errors.New("of a newer agent")

// checkForm refuses maps whose content means something else. Without the map of the form they are from before forms
// were counted.
func checkForm(folder string) error {
	m, err := ebpf.LoadPinnedMap(filepath.Join(folder, formMap), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the form of the maps pinned in %s: %w", folder, err)
	}
	defer m.Close()
	var form uint32
	if err := m.Lookup(uint32(0), &form); err != nil {
		return fmt.Errorf("read the form of the maps pinned in %s: %w", folder, err)
	}
	if form > mapsForm {
		return fmt.Errorf("the maps pinned in %s are %w (form %d, and this one knows %d): start the newer agent again. Its programs go on, and after fail_open they shape nothing. "+
			"To begin anew, remove the datapath (millrace pe --remove)", folder, ErrNewer, form, mapsForm)
	}
	return nil
}

// noteForm pins the form beside the maps.
func noteForm(folder string) error {
	m, err := ebpf.NewMapWithOptions(&ebpf.MapSpec{
		Name: formMap, Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1, Pinning: ebpf.PinByName,
	}, ebpf.MapOptions{PinPath: folder})
	if err != nil {
		return fmt.Errorf("pin the form of the maps: %w", err)
	}
	defer m.Close()
	if err := bpfmap.Put(m, uint32(0), mapsForm); err != nil {
		return fmt.Errorf("note the form of the maps: %w", err)
	}
	return nil
}
