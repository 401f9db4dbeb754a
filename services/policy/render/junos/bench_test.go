package junos

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/policy/compile"
)

// pairs is a plan with n redirected pairs of its own prefixes.
func pairs(n int) compile.RouterPlan {
	rules := make([]compile.Rule, n)
	for i := range rules {
		at := func(b byte) netip.Prefix {
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{b, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
		}
		rules[i] = compile.Rule{Pair: fmt.Sprint(i), Queue: "alpha", LSP: "te-l", Match: compile.Match{Src: at(10), Dst: at(100)}}
	}
	return plan(lsp, filter("ingress", rules...))
}

func BenchmarkText(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("%d-pairs", n), func(b *testing.B) {
			p := pairs(n)
			for b.Loop() {
				if _, err := Text(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	text, err := Text(pairs(5000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := junosconf.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
