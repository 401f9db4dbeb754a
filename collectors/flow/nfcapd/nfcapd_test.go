package nfcapd

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// sample was written by nfcapd 1.7.1 from the datagrams of
// ../decode/testdata/softflowd/9-live.
const sample = "testdata/softflowd-9-live.nfcapd"

func read(t *testing.T, path string, opt Options) []flowrecord.Record {
	t.Helper()
	var all []flowrecord.Record
	if _, err := Read(t.Context(), path, opt, func(r *flowrecord.Record) error {
		all = append(all, *r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestRecordsOfAFile(t *testing.T) {
	got := read(t, sample, DefaultOptions())
	if len(got) != 10 {
		t.Fatalf("%d records, want 10", len(got))
	}
	want := flowrecord.Record{
		Exporter: netip.MustParseAddr("127.0.0.1"), Start: at("2026-11-21T12:37:42.115Z"), End: at("2026-11-21T12:37:45.000Z"),
		Src: netip.MustParseAddr("10.1.0.1"), Dst: netip.MustParseAddr("10.1.0.2"), SrcPort: 39766, DstPort: 5201,
		Protocol: 6, TCPFlags: 0x1a, InIf: 7, OutIf: 7, Bytes: 7283213, Packets: 174, SamplingRate: 1, Source: flowrecord.Nfcapd,
	}
	if diff := cmp.Diff(got[2], want, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("third record -got +want\n%s", diff)
	}
}

func TestTheLocalTimeZoneDoesNotMatter(t *testing.T) {
	want := read(t, sample, DefaultOptions())
	t.Setenv("TZ", "Asia/Tokyo")
	if diff := cmp.Diff(read(t, sample, DefaultOptions()), want, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("-Tokyo +UTC\n%s", diff)
	}
}

func TestCountIsWhatReadGives(t *testing.T) {
	n, err := Count(t.Context(), sample)
	if err != nil || n != 10 {
		t.Errorf("count is %d, %v; want 10", n, err)
	}
}

func ids(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	if _, err := Batches(t.Context(), path, DefaultOptions(), func(b *flowv1.FlowBatch) error {
		all = append(all, b.GetBatchId())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBatchIDsFollowTheContent(t *testing.T) {
	raw, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(t.TempDir(), "another-name")
	if err := os.WriteFile(renamed, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	got := ids(t, renamed)
	if diff := cmp.Diff(got, ids(t, sample)); diff != "" {
		t.Errorf("ids of a renamed copy differ: %s", diff)
	}
	// The id is part of the contract with stores filled by earlier releases.
	if want := []string{"nfcapd-4cdc23ac5aa31ae28a2974407102b029"}; !cmp.Equal(got, want) {
		t.Errorf("ids are %q, want %q", got, want)
	}
}

func TestEqualBatchesInOneFileHaveDifferentIDs(t *testing.T) {
	r := read(t, sample, DefaultOptions())[:1]
	if batchID(0, r) == batchID(1, r) {
		t.Error("two batches of the same records would be stored once")
	}
	changed := []flowrecord.Record{r[0]}
	changed[0].TOS++
	if batchID(0, r) == batchID(0, changed) {
		t.Error("records that differ in TOS have the same id")
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a flow file\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut")
	if err := os.WriteFile(cut, raw[:len(raw)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"not there", filepath.Join(dir, "nothing"), "no such file"},
		{"another format", garbage, "bad magic"},
		{"cut off", cut, "block 1 of 1: the file breaks off in it"},
		{"a directory", dir, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			_, err := Read(t.Context(), c.path, DefaultOptions(), func(*flowrecord.Record) error { n++; return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v after %d records, want one with %q", err, n, c.want)
			}
		})
	}
}

func TestOutputOfNfdump(t *testing.T) {
	const head = `"first":"2026-11-21T12:00:00.000","last":"2026-11-21T12:00:01.000","in_packets":1,"in_bytes":56,`
	addrs := `"src4_addr":"10.0.0.1","dst4_addr":"10.0.0.2"`
	for _, c := range []struct {
		name, in string
		exporter string
		records  int
		skipped  uint64
		fails    bool
	}{
		{"nothing at all", "", "", 0, 0, false},
		{"no flow matches", "[\nNo matching flows\n]\n", "", 0, 0, false},
		{"an empty list", "[]", "", 0, 0, false},
		{"an event", `[{"type":"EVENT",` + head + addrs + `}]`, "", 0, 1, false},
		{"a flow without router, none given", `[{"type":"FLOW",` + head + addrs + `}]`, "", 0, 0, true},
		{"a flow without router, one given", `[{"type":"FLOW",` + head + addrs + `}]`, "192.0.2.1", 1, 0, false},
		{"a flow without addresses", `[{"type":"FLOW",` + head[:len(head)-1] + `}]`, "192.0.2.1", 0, 1, false},
		{"a flow that was counted where it went out", `[{"type":"FLOW",` + strings.Replace(head, `"in_packets":1,"in_bytes":56,`, `"in_packets":0,"in_bytes":0,"out_packets":3,"out_bytes":4000,`, 1) + addrs + `}]`, "192.0.2.1", 1, 0, false},
		{"a list that breaks off", `[{"type":"FLOW",` + head, "", 0, 0, true},
		{"an address that is none", `[{"type":"FLOW",` + head + `"src4_addr":"x"}]`, "", 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := DefaultOptions()
			if c.exporter != "" {
				opt.Exporter = netip.MustParseAddr(c.exporter)
			}
			n := 0
			skipped, err := decode(strings.NewReader(c.in), opt, func(r *flowrecord.Record) error {
				if n++; r.Bytes != 56 && (r.Bytes != 4000 || r.Packets != 3) {
					t.Errorf("%d bytes, %d packets", r.Bytes, r.Packets)
				}
				return nil
			})
			if n != c.records || skipped != c.skipped || (err != nil) != c.fails {
				t.Errorf("%d records, %d skipped, error %v; want %d, %d, error %v", n, skipped, err, c.records, c.skipped, c.fails)
			}
		})
	}
}

func FuzzOutputOfNfdump(f *testing.F) {
	f.Add([]byte(`[{"type":"FLOW","first":"2026-11-21T12:00:00.000","last":"2026-11-21T12:00:01.000","in_bytes":56,` +
		`"src6_addr":"2001:db8::1","dst6_addr":"2001:db8::2","ip6_router":"::1","tcp_flags":"...AP.S."}]`))
	f.Add([]byte("[\nNo matching flows\n]\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		decode(strings.NewReader(string(raw)), DefaultOptions(), func(r *flowrecord.Record) error { //nolint:errcheck // must only not crash
			p := r.ToProto()
			if _, err := flowrecord.FromProto(p); err != nil {
				t.Errorf("record %+v would not survive the bus: %v", *r, err)
			}
			return nil
		})
	})
}
