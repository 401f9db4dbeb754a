package main

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// missing lists what a table of vendors lacks for some operating systems: whole rows, and columns of rows.
func missing(oses []device.OS, table map[device.OS]vendor) []string {
	var out []string
	for _, os := range oses {
		row, there := table[os]
		if !there {
			out = append(out, fmt.Sprintf("os %s is in device.OSes and has no row; add one to vendors in cmd/millrace/vendors.go", os))
			continue
		}
		columns := reflect.ValueOf(row)
		for i := range columns.NumField() {
			if columns.Field(i).IsZero() && columns.Field(i).Kind() != reflect.Bool { // no is an answer
				out = append(out, fmt.Sprintf("os %s has no %s; fill in the column in cmd/millrace/vendors.go", os, columns.Type().Field(i).Name))
			}
		}
		if row.Encoding != "" && !slices.Contains(configentry.Encodings, row.Encoding) {
			out = append(out, fmt.Sprintf("os %s has the encoding %s; add it to Encodings in internal/configentry/entry.go", os, row.Encoding))
		}
	}
	for os := range table {
		if !slices.Contains(oses, os) {
			out = append(out, fmt.Sprintf("os %s has a row and no inventory may name it; add it to OSes in internal/device/inventory.go", os))
		}
	}
	return out
}

func TestEveryOperatingSystemHasAllColumns(t *testing.T) {
	for _, what := range missing(device.OSes, vendors) {
		t.Error(what)
	}
}

func TestARowThatIsNotFilledInIsNamed(t *testing.T) {
	full := vendors[device.OSJunos]
	partial := full
	partial.Driver, partial.Encoding = nil, "eos_text"
	got := missing([]device.OS{"junos", "eos", "ios-xr"}, map[device.OS]vendor{"junos": full, "eos": partial, "nx-os": full})
	want := []string{
		"os eos has no Driver; fill in the column in cmd/millrace/vendors.go",
		"os eos has the encoding eos_text; add it to Encodings in internal/configentry/entry.go",
		"os ios-xr is in device.OSes and has no row; add one to vendors in cmd/millrace/vendors.go",
		"os nx-os has a row and no inventory may name it; add it to OSes in internal/device/inventory.go",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("missing (-got +want):\n%s", diff)
	}
}

// TestFramesSaysWhatTheRendererWrites: a plan with an end of a circuit is refused by those, and only those, whose row
// says that they carry no frames.
func TestFramesSaysWhatTheRendererWrites(t *testing.T) {
	far := netip.MustParseAddr("10.255.0.2")
	plan := compile.RouterPlan{
		Router: "wr", Queues: []document.Queue{{Name: "circuits", ID: 1, Weight: 80}}, LSPs: []compile.LSP{{Name: "te-circuit-c-1-0", Destination: far, Hops: []netip.Addr{far}}},
		Attachments: []compile.Attachment{{
			Circuit: "c-1", Name: compile.AttachmentName("c-1"), End: "from", Port: "ge-w1", VLAN: 100, Number: 5, Queue: "circuits", LSP: "te-circuit-c-1-0",
			Local: netip.MustParseAddr("198.18.0.10"), Remote: netip.MustParseAddr("198.18.0.11"),
		}},
	}
	for os, v := range vendors {
		if _, err := v.Render(plan); (err == nil) != (v.Frames != compile.FramesNone) {
			t.Errorf("os %s has Frames: %s, and its renderer says of a circuit's end: %v", os, v.Frames, err)
		}
	}
}

// TestEveryVendorHasItsPageRouterAndTranscripts: millrace is our own agent, which has all of this under its own names.
func TestEveryVendorHasItsPageRouterAndTranscripts(t *testing.T) {
	for _, os := range device.OSes {
		if os == device.OSMillrace {
			continue
		}
		for _, pattern := range []string{"docs/reference/%[1]s.md", "services/push/driver/%[1]s/%[1]stest/router.go", "services/push/testdata/%[1]s/*.txt", "services/policy/render/%[1]s/render.go"} {
			name := fmt.Sprintf(pattern, os)
			found, err := filepath.Glob(filepath.Join("../..", name))
			if err != nil || len(found) == 0 {
				t.Errorf("%s has no %s (%v); docs/how-to/add-a-vendor.md says what is in it", os, name, err)
			}
		}
	}
}
