package vpn

import (
	"math"
	"net/netip"

	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// What a PE may say: beyond these nothing real lies, and one such number would spoil every sum and mean it goes into.
const (
	mostBits    = 1e15
	mostSeconds = 1e4
	mostPackets = 1e12
)

// accept takes the flows that can be; the others are counted by reason.
func accept(flows []*vpnv1.Flow) (good []*vpnv1.Flow, refused map[string]int) {
	refused = map[string]int{}
	seen := map[[3]string]bool{}
	for _, f := range flows {
		key := [3]string{f.GetVpn(), f.GetIngress(), f.GetEgress()}
		switch reason := nonsense(f); {
		case reason != "":
			refused[reason]++
		case seen[key]:
			refused["twice"]++
		case len(good) > 0 && good[0].GetIngress() != f.GetIngress():
			refused["two_addresses"]++
		default:
			seen[key] = true
			good = append(good, f)
		}
	}
	return good, refused
}

// nonsense is why a flow cannot be, in a word; empty where it can.
func nonsense(f *vpnv1.Flow) string {
	within := func(v, most float64) bool { return v >= 0 && v <= most && !math.IsNaN(v) }
	switch {
	case f.GetVpn() == "":
		return "no_vpn"
	case !isPE(f.GetIngress()) || !isPE(f.GetEgress()) || f.GetIngress() == f.GetEgress():
		return "address"
	case vpnshare.CheckWeight(f.GetVpn(), f.GetWeight()) != nil:
		return "weight"
	case !within(f.GetThroughput(), mostBits) || !within(f.GetRate(), mostBits):
		return "rate"
	case !within(f.GetRttSeconds(), mostSeconds):
		return "rtt"
	case !within(f.GetWindow(), mostPackets) || !within(f.GetB(), 1) || !within(f.GetLoss(), 1):
		return "law"
	}
	return ""
}

func isPE(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is4()
}
