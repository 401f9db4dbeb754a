package management

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/services/peagent/law"
)

func keys(t testing.TB) *Keyring {
	t.Helper()
	r, err := ParseKeys([]byte("3 000102030405060708090a0b0c0d0e0f\n1 ffffffffffffffffffffffffffffffff\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var sample = Packet{
	Kind: Request, Key: 3, Probe: true, FlowIndex: 77, VPN: 12, Ingress: netip.MustParseAddr("10.255.0.1"), Egress: netip.MustParseAddr("10.255.0.3"),
	Sequence: 5, Departure: 1e12, Sent: 1000, Received: 998, ReceivedOctets: 1 << 40,
}

func encode(p Packet, r *Keyring) []byte {
	b := make([]byte, Size)
	p.Put(b)
	k, _ := r.Find(p.Key)
	Sign(b, k)
	return b
}

func TestPacketsSurviveTheWire(t *testing.T) {
	r := keys(t)
	got, err := Parse(encode(sample, r), r)
	if diff := cmp.Diff(sample, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	r := keys(t)
	good := encode(sample, r)
	for bit := range Size * 8 {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := Parse(bad, r); !errors.Is(err, ErrForged) && !errors.Is(err, ErrMalformed) {
			t.Errorf("bit %d flipped: %v", bit, err)
		}
	}
}

func TestPeerUpdates(t *testing.T) {
	r := keys(t)
	u := PeerUpdate{
		From: sample.Ingress, Sequence: 9,
		Sums: law.Sums{Priced: 3, InversePrices: 1e5, WithLoss: 2, LossIntervals: 123.5, SendRate: 7, Weight: 2},
	}
	id, k := r.Signing()
	b := u.Encode(id, k)
	got, err := ParsePeerUpdate(b, r)
	if diff := cmp.Diff(u, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for bit := range PeerUpdateSize * 8 {
		bad := bytes.Clone(b)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := ParsePeerUpdate(bad, r); err == nil {
			t.Errorf("bit %d flipped and accepted", bit)
		}
	}
	u.Sums.LossIntervals = math.NaN()
	if _, err := ParsePeerUpdate(u.Encode(id, k), r); !errors.Is(err, ErrMalformed) {
		t.Errorf("an update of NaN: %v", err)
	}
}

func TestKeyFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"comments and blank lines", "# old\n\n2 000102030405060708090a0b0c0d0e0f\n", ""},
		{"nothing", "# none\n", "no key"},
		{"a short key", "1 0001\n", "line 1: a key is 32"},
		{"a number too high", "8 000102030405060708090a0b0c0d0e0f", "from 0 to 7"},
		{"a number twice", "1 000102030405060708090a0b0c0d0e0f\n1 000102030405060708090a0b0c0d0e0f", "line 2"},
		{"a word too many", "1 00 00", "line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseKeys([]byte(c.text))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	id, k := keys(t).Signing()
	if id != 3 || fmt.Sprint(k) != "***" || fmt.Sprintf("%v", struct{ K Key }{k}) != "{***}" {
		t.Errorf("key %d signs and prints as %v", id, k)
	}
}

func TestKeyFilesAreTheirOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("0 000102030405060708090a0b0c0d0e0f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, says := range map[os.FileMode]string{0o600: "", 0o400: "", 0o640: "chmod 600", 0o604: "chmod 600", 0o620: "chmod 600"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeys(path); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("mode %#o: %v, want %q", mode, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	r := keys(f)
	f.Add(encode(sample, r))
	id, k := r.Signing()
	f.Add(PeerUpdate{From: sample.Ingress, Sums: law.Sums{Priced: 1}}.Encode(id, k))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := Parse(b, r); err == nil && !bytes.Equal(encode(p, r), b) && p.Key == b[4] {
			// Only the padding can differ, and it is signed.
			if b[5] > 1 || b[6] != 0 || b[7] != 0 {
				return
			}
			t.Errorf("%x is read as %+v", b, p)
		}
		if u, err := ParsePeerUpdate(b, r); err == nil && u.Sums.Priced < 0 {
			t.Errorf("%x is read as %+v", b, u)
		}
	})
}
