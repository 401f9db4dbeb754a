package nfcapd

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/nfdumpfile"
)

// content is what reading gives.
type content struct {
	Records []flowrecord.Record
	Skipped uint64
}

func (c *content) add(r *flowrecord.Record) error {
	c.Records = append(c.Records, *r)
	return nil
}

// here reads without the nfdump program.
func here(t *testing.T, path string) content {
	t.Helper()
	f, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	var c content
	if c.Skipped, err = f.read(t.Context(), DefaultOptions(), c.add); err != nil {
		t.Fatal(err)
	}
	return c
}

func nfdumps(t *testing.T, path string) content {
	t.Helper()
	var c content
	var err error
	if c.Skipped, err = readByNfdump(t.Context(), path, DefaultOptions(), c.add); err != nil {
		t.Fatal(err)
	}
	return c
}

func same(t *testing.T, got, want content) {
	t.Helper()
	if diff := cmp.Diff(got, want, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("-here +nfdump\n%s", diff)
	}
	if len(want.Records) == 0 || want.Skipped == 0 {
		t.Errorf("nfdump has %d flows and skips %d: the file shows nothing", len(want.Records), want.Skipped)
	}
}

// generated are flows with every element that is read, and events.
func generated(n int) func(yield func(*nfdumpfile.Flow) bool) {
	return func(yield func(*nfdumpfile.Flow) bool) {
		r := rand.New(rand.NewPCG(17, 0))
		address := func() netip.Addr {
			if r.IntN(2) == 0 {
				return netip.AddrFrom4([4]byte{10, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
			}
			a := netip.MustParseAddr("2001:db8::").As16()
			binary.BigEndian.PutUint64(a[8:], r.Uint64())
			return netip.AddrFrom16(a)
		}
		for range n {
			f := nfdumpfile.Flow{Event: r.IntN(8) == 0, Record: flowrecord.Record{
				Exporter: address(), Domain: uint32(r.IntN(3)), Src: address(), Start: time.UnixMilli(1790000000000 + r.Int64N(86400000)),
				SrcPort: uint16(r.Uint32()), DstPort: uint16(r.Uint32()), Protocol: []byte{1, 6, 17, 58, byte(r.Uint32())}[r.IntN(5)],
				TOS: byte(r.Uint32()), TCPFlags: uint16(byte(r.Uint32())), InIf: r.Uint32(), OutIf: r.Uint32(), Bytes: r.Uint64() >> r.IntN(64), Packets: r.Uint64() >> r.IntN(64),
			}}
			f.End = f.Start.Add(time.Duration(r.IntN(3600000)-3600) * time.Millisecond) // some end before they start
			for f.Dst = address(); f.Dst.Is4() != f.Src.Is4(); f.Dst = address() {
			}
			if r.IntN(4) == 0 {
				f.Bytes, f.Packets, f.OutBytes, f.OutPackets = 0, 0, r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
			}
			if !yield(&f) {
				return
			}
		}
	}
}

func generate(t testing.TB, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "nfcapd.generated")
	if err := nfdumpfile.Write(path, generated(n)); err != nil {
		t.Fatal(err)
	}
	return path
}

// compressed is what nfdump makes of a file.
func compressed(t testing.TB, path, flag string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "nfcapd.compressed")
	if out, err := exec.CommandContext(t.Context(), "nfdump", "-r", path, "-w", to, flag).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// TestAsNfdumpReadsIt compares with nfdump's own reading of the same file, of several blocks, also as nfdump compresses
// it.
func TestAsNfdumpReadsIt(t *testing.T) {
	const flows = 20_000
	plain := generate(t, flows)
	want := nfdumps(t, plain)
	for name, flag := range map[string]string{"as written": "", "LZO": "-z", "LZ4": "-y", "bzip2": "-j"} {
		t.Run(name, func(t *testing.T) {
			path := plain
			if flag != "" {
				path = compressed(t, plain, flag)
			}
			f, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.close()
			if f.blocks < 2 {
				t.Errorf("the file has %d blocks, want several", f.blocks)
			}
			if n, err := f.count(); n != flows || err != nil {
				t.Errorf("its appendix counts %d flows, %v; want %d", n, err, flows)
			}
			same(t, here(t, path), want)
		})
	}
}

// TestFilesOf178 are files that nfcapd 1.7.8 wrote, and what nfdump 1.7.8 printed of them.
func TestFilesOf178(t *testing.T) {
	for _, name := range []string{"captures-1.7.8-zstd", "captures-1.7.8-lz4-ipv6"} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.Open(filepath.Join("testdata", name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			printed, err := gzip.NewReader(raw)
			if err != nil {
				t.Fatal(err)
			}
			var want content
			if want.Skipped, err = decode(printed, DefaultOptions(), want.add); err != nil {
				t.Fatal(err)
			}
			same(t, here(t, filepath.Join("testdata", name+".nfcapd")), want)
		})
	}
}

// TestAddressesOfBothFamilies reads flows of an exporter that has both families in one template, with zeros in the one
// that a flow is not of.
func TestAddressesOfBothFamilies(t *testing.T) {
	var got []string
	for _, r := range read(t, filepath.Join("testdata", "both-families-1.7.8.nfcapd"), DefaultOptions()) {
		got = append(got, r.Src.String()+" "+r.Dst.String())
	}
	// The last one has both, and is read as nfdump 1.7.8 prints it.
	want := []string{"10.0.0.1 10.0.0.2", "2001:db8::1 2001:db8::2", "10.0.0.1 10.0.0.2"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want\n%s", diff)
	}
}

// change writes a copy of a file with some octets changed.
func change(t *testing.T, path string, do func(raw []byte) []byte) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "nfcapd.changed")
	if err := os.WriteFile(changed, do(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	return changed
}

// octets writes value at an offset.
func octets(at int, value ...byte) func(raw []byte) []byte {
	return func(raw []byte) []byte {
		copy(raw[at:], value)
		return raw
	}
}

func cut(at int) func(raw []byte) []byte {
	return func(raw []byte) []byte { return raw[:at] }
}

// shorter takes the last octets of the first block away.
func shorter(raw []byte) []byte {
	const less = 8
	size := binary.LittleEndian.Uint32(raw[headerOctets+4:])
	binary.LittleEndian.PutUint32(raw[headerOctets+4:], size-less)
	end := headerOctets + blockHeaderOctets + int(size)
	return append(raw[:end-less], raw[end:]...)
}

func TestDamagedFiles(t *testing.T) {
	const (
		firstBlock  = headerOctets
		firstRecord = firstBlock + blockHeaderOctets
		element     = firstRecord + v3HeaderOctets
	)
	plain := generate(t, 100)
	zstd := filepath.Join("testdata", "captures-1.7.8-zstd.nfcapd")
	for _, c := range []struct {
		name, path string
		damage     func([]byte) []byte
		want       string
	}{
		{"it ends in a block's header", plain, cut(firstBlock + 5), "block 1 of 1: the file breaks off in it"},
		{"it ends in a block", plain, cut(firstRecord + 1000), "block 1 of 1: the file breaks off in it"},
		{"it has fewer blocks than it says", plain, octets(36, 2), "block 2 of 2: "},
		{"it was not closed", plain, octets(18, make([]byte, 22)...), errOpen.Error()},
		{"it was not closed and has no block yet", plain, func(raw []byte) []byte { return octets(18, make([]byte, 22)...)(raw[:headerOctets]) }, errOpen.Error()},
		{"it has more blocks than it says", plain, octets(36, 0), "its 0 blocks end at octet 40, and its appendix begins at "},
		{"a block of a location database", plain, octets(firstBlock+8, 4), "block 1 of 1: it is of type 4; want 3"},
		{"a block larger than any", plain, octets(firstBlock+4, 1, 0, 80, 0), "it has 5242881 octets; want at most 5242880"},
		{"more records than there are", plain, octets(firstBlock, 101), "record 101 of 101 has 0 octets, and the block 0 more"},
		{"fewer records than there are", plain, octets(firstBlock, 99), "block 1 of 1: there are "},
		{"no records, and octets of some", plain, octets(firstBlock, 0), "octets after its 0 records"},
		{"a record shorter than its header", plain, octets(firstRecord+2, 3, 0), "record 1 of 100 has 3 octets"},
		{"a record longer than the block", plain, octets(firstRecord+2, 255, 255), "record 1 of 100 has 65535 octets"},
		{"a flow record without room for a header", plain, octets(firstRecord+2, 11, 0), "a flow record of 11 octets"},
		{"a record of nfdump 1.5", plain, octets(firstRecord, 1, 0), "a record of type 1, which nfdump 1.7 does not write"},
		{"more elements than there are", plain, octets(firstRecord+4, 200), "an element of 0 octets in a flow record that has 0 more"},
		{"an element shorter than its header", plain, octets(element+2, 3, 0), "an element of 3 octets"},
		{"an element longer than the record", plain, octets(element+2, 255, 255), "an element of 65535 octets"},
		{"an element of another length", plain, octets(element, 1, 0), "element 1 has"},
		{"compressed octets that are none", zstd, octets(firstRecord, 1, 2, 3, 4), "block 1 of 1: decompress it: "},
		{"bzip2 that breaks off", compressed(t, plain, "-j"), shorter, "block 1 of 1: decompress it: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := change(t, c.path, c.damage)
			_, err := Read(t.Context(), path, DefaultOptions(), func(*flowrecord.Record) error { return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v; want one with %q", err, c.want)
			}
		})
	}
}

func TestWhatNfdumpIsNeededFor(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"layout 1, of nfdump 1.6":  octets(2, 1),
		"a block of nfdump 1.6":    octets(headerOctets+8, 2),
		"another compression":      octets(16, 9),
		"encrypted":                octets(17, 1),
		"the other order of bytes": octets(0, 0xa5, 0x0c),
		"no header":                cut(20),
		"nothing":                  cut(0),
	} {
		t.Run(name, func(t *testing.T) {
			path := change(t, sample, damage)
			t.Setenv("PATH", t.TempDir())
			if _, err := Count(t.Context(), path); !errors.Is(err, ErrNoNfdump) {
				t.Errorf("count: error is %v, want %v", err, ErrNoNfdump)
			}
			if _, err := Read(t.Context(), path, DefaultOptions(), nil); !errors.Is(err, ErrNoNfdump) {
				t.Errorf("read: error is %v, want %v", err, ErrNoNfdump)
			}
		})
	}
}

func TestAFileOf17NeedsNoNfdump(t *testing.T) {
	want := here(t, sample)
	t.Setenv("PATH", t.TempDir())
	var got content
	if _, err := Read(t.Context(), sample, DefaultOptions(), got.add); err != nil || len(got.Records) != len(want.Records) {
		t.Errorf("%d records, %v; want %d", len(got.Records), err, len(want.Records))
	}
}

func FuzzFile(f *testing.F) {
	plain := generate(f, 20)
	for _, path := range []string{
		sample, "testdata/captures-1.7.8-zstd.nfcapd", "testdata/captures-1.7.8-lz4-ipv6.nfcapd", compressed(f, plain, "-z"), compressed(f, plain, "-j"),
	} {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "nfcapd")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := open(path)
		if err != nil {
			return
		}
		defer file.close()
		file.count()                   //nolint:errcheck // must only not crash
		file.raw.Seek(headerOctets, 0) //nolint:errcheck // a file can seek
		file.in.Reset(file.raw)
		file.read(t.Context(), DefaultOptions(), func(r *flowrecord.Record) error { //nolint:errcheck // must only not crash
			if _, err := flowrecord.FromProto(r.ToProto()); err != nil {
				t.Errorf("record %+v would not survive the bus: %v", *r, err)
			}
			return nil
		})
	})
}
