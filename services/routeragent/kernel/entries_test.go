package kernel

import (
	"testing"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// TestEntriesOneByOneOutlastTheKernelsCache: more entries in a row than the kernel has ready. A User-Mode Linux kernel
// refills its cache once per tick, so that there the cache is empty after some tens of them.
func TestEntriesOneByOneOutlastTheKernelsCache(t *testing.T) {
	if !labtest.Guest(t) {
		return
	}
	spec, err := bpf.LoadClassifier()
	if err != nil {
		t.Fatal(err)
	}
	obj := &objects{}
	if err := spec.LoadAndAssign(obj, nil); err != nil {
		t.Fatal(err)
	}
	for i := range obj.Ports.MaxEntries() {
		if err := bpfmap.Put(obj.Ports, i, bpf.ClassifierPort{}); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
}
