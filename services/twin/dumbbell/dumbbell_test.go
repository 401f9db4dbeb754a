package dumbbell

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDumbbellIsAlmostFull(t *testing.T) {
	p := Standard()
	p.Duration, p.Warm = 10, 2
	r, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range r.Flows {
		sum += f
	}
	// 512 of 566 bytes are payload; a hundred NewReno connections over fifty packets of buffer leave less than a tenth.
	most := 100.0 * 512 / 566
	if len(r.Flows) != p.Flows || math.Abs(sum-r.Goodput) > 1e-6 || r.Goodput > most || r.Goodput < 0.9*most {
		t.Errorf("%d flows sum to %.2f of %.2f Mbit/s; the link carries %.2f", len(r.Flows), sum, r.Goodput, most)
	}
}

func TestWhatIsPrintedIsRead(t *testing.T) {
	want := Result{Goodput: 3.5, Flows: []float64{1.25, 2.25}, Hops: 12}
	got, err := Parse("Resending SYN\n" + want.Print())
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, text := range map[string]string{"nothing": "", "no number": "goodput_mbps=x\n", "a flow without a number": "hops=1\nflow_mbps=1,\n"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestPeersGetEveryParameter(t *testing.T) {
	a, b := Standard(), Standard()
	b = Parameters{
		Pairs: 2, Flows: 3, Buffer: 4, Window: 5, Initial: 6, Payload: 7, Header: b.Header, Frame: b.Frame, AckEvery: 8, Access: 9, Core: 10,
		AccessDelay: 11, CoreDelay: 12, DelayStep: 13, Loss: 14, Stagger: 15, Warm: 16, Duration: 17, SACK: true, Algorithm: "cubic", Seed: 18,
	}
	for i, one := range a.Arguments() {
		if other := b.Arguments()[i]; one == other || !strings.HasPrefix(one, "--") {
			t.Errorf("%s and %s tell nothing apart", one, other)
		}
	}
}

func TestDumbbellsThatCannotBeBuilt(t *testing.T) {
	for name, change := range map[string]func(*Parameters){
		"no pairs": func(p *Parameters) { p.Pairs = 0 }, "a law nobody wrote": func(p *Parameters) { p.Algorithm = "bbr" },
		"no rate": func(p *Parameters) { p.Core = 0 },
	} {
		p := Standard()
		change(&p)
		if _, err := Run(p); err == nil {
			t.Errorf("%s was run", name)
		}
	}
}
