package decode

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestUsualFields reads records of made-up layouts with and without the way for fields of usual lengths.
func TestUsualFields(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	usually := 0
	for range 5_000 {
		l := &layout{plain: true}
		for range 1 + r.IntN(12) {
			s := step{at: uint16(l.tail), length: []uint16{1, 2, 4, 8, 16, 3}[r.IntN(6)], to: 1 + target(r.IntN(int(toDst)))}
			if s.usual = usuals[step{to: s.to, length: s.length}]; s.usual != unusual {
				usually++
			}
			l.steps = append(l.steps, s)
			l.tail += int(s.length)
		}
		record := make([]byte, l.tail)
		for i := range record {
			record[i] = byte(r.Uint32()) * byte(r.IntN(2)) // half of them zero: addresses that are unspecified
		}
		var got, want reading
		got.f, want.f = &Flow{}, &Flow{}
		got.exported, want.exported = time.Unix(1790000000, 0), time.Unix(1790000000, 0)
		if n := l.readPlain(record, &got); n != len(record) {
			t.Fatalf("%d octets read of %d", n, len(record))
		}
		for _, s := range l.steps {
			want.take(s.to, record[s.at:][:s.length])
		}
		got.finish()
		want.finish()
		if diff := cmp.Diff(got, want, cmp.AllowUnexported(reading{}, samplingFields{}), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Fatalf("%v of % x: -usual +take\n%s", l.steps, record, diff)
		}
	}
	if usually < 2_000 {
		t.Errorf("%d fields had usual lengths: the test shows little", usually)
	}
}
