package policy

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// The plan of a nightly run: 20,000 pairs through the testbed of paper 002, compiled and rendered for three routers.
func BenchmarkTwentyThousandPairs(b *testing.B) {
	in := twentyThousandPairs(b)
	b.ReportAllocs()
	for b.Loop() {
		result, err := compile.Compile(in)
		if err != nil {
			b.Fatal(err)
		}
		for _, plan := range result.Plans {
			if _, err := openconfig.Entries(plan); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func twentyThousandPairs(b *testing.B) compile.Input {
	b.Helper()
	in := policytest.Read(b, "hntes-redirect")
	in.Pairs = nil
	for i := range 20_000 {
		src := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		dst := netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)})
		in.Pairs = append(in.Pairs, compile.Pair{
			ID: fmt.Sprintf("p-%d", i), Src: netip.PrefixFrom(src, 32), Dst: netip.PrefixFrom(dst, 32), Ingress: "wr", Egress: "er",
		})
	}
	return in
}
