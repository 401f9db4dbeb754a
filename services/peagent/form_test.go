package peagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/peagent/datapath"
)

// Maps that a newer agent has pinned are refused, and they and its programs stay as they are: the router forwards on.
// Maps of an agent from before forms were counted are taken over.
func TestPinnedMapsOfOtherAgents(t *testing.T) {
	n := newNetwork(t, 1)
	cfg := n.config(1)
	file := filepath.Join(cfg.Pins, "pe_form")
	n.stop(n.start(1, nil))
	programs := func() string { return n.In("pe1", "tc", "filter", "show", "dev", "core", "egress") }
	attached := programs()
	if !strings.Contains(attached, "pe_core_out") {
		t.Fatalf("the programs are not attached: %s", attached)
	}
	form, err := ebpf.LoadPinnedMap(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer form.Close()
	if err := bpfmap.Put(form, uint32(0), uint32(2)); err != nil {
		t.Fatal(err)
	}
	older, err := New(cfg, Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	n.Within("pe1", func() error { err = older.Start(t.Context()); return nil })
	if !errors.Is(err, datapath.ErrNewer) || !strings.Contains(err.Error(), "form 2, and this one knows 1): start the newer agent again") {
		t.Errorf("maps of a newer agent: %v", err)
	}
	if is := programs(); is != attached {
		t.Errorf("the programs are %s\nand were %s", is, attached)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	a := n.start(1, nil)
	if !a.dp.Adopted {
		t.Error("maps from before forms were counted are not taken over")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("their form is not noted: %v", err)
	}
	n.stop(a)
	n.Within("pe1", func() error { return Remove(cfg) })
	if left, err := filepath.Glob(filepath.Join(cfg.Pins, "*")); len(left) > 0 || err != nil {
		t.Errorf("removed, and %v is left, %v", left, err)
	}
}
