package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

func TestThePageIsCurrent(t *testing.T) {
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reference/gnmi-paths.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), b.String()); diff != "" {
		t.Errorf("docs/reference/gnmi-paths.md is not what the agent does; run make generate (-page +agent):\n%s", diff)
	}
}

func TestEveryFeatureThatIsProbedIsOnThePage(t *testing.T) {
	probed, err := kernel.Probe()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(probed)), slices.Sorted(maps.Keys(features))); diff != "" {
		t.Errorf("features (-probed +page):\n%s", diff)
	}
}
