package vpn

import (
	"math"
	"net/netip"

	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// Upper bounds of the values that a PE may report: no real flow exceeds them, and one such number would spoil every sum
// and mean.
const (
	maxBits    = 1e15
	maxSeconds = 1e4
	maxPackets = 1e12
)

// splitInvalid returns the valid flows, and counts the others by reason.
func splitInvalid(flows []*vpnv1.Flow) (good []*vpnv1.Flow, rejected map[string]int) {
	rejected = map[string]int{}
	seen := map[[3]string]bool{}
	for _, f := range flows {
		key := [3]string{f.GetVpn(), f.GetIngress(), f.GetEgress()}
		switch reason := invalidReason(f); {
		case reason != "":
			rejected[reason]++
		case seen[key]:
			rejected["duplicate"]++
		case len(good) > 0 && good[0].GetIngress() != f.GetIngress():
			rejected["two_addresses"]++
		default:
			seen[key] = true
			good = append(good, f)
		}
	}
	return good, rejected
}

// invalidReason is why a flow is invalid, as a label value; empty if it is valid.
func invalidReason(f *vpnv1.Flow) string {
	within := func(v, most float64) bool { return v >= 0 && v <= most && !math.IsNaN(v) }
	switch {
	case f.GetVpn() == "":
		return "no_vpn"
	case !isPE(f.GetIngress()) || !isPE(f.GetEgress()) || f.GetIngress() == f.GetEgress():
		return "address"
	case vpnshare.CheckWeight(f.GetVpn(), f.GetWeight()) != nil:
		return "weight"
	case !within(f.GetThroughput(), maxBits) || !within(f.GetRate(), maxBits):
		return "rate"
	case !within(f.GetRttSeconds(), maxSeconds):
		return "rtt"
	case !within(f.GetWindow(), maxPackets) || !within(f.GetB(), 1) || !within(f.GetLoss(), 1):
		return "law"
	}
	return ""
}

func isPE(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is4()
}
