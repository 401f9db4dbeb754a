package lab

import (
	"strings"

	"github.com/millrace/millrace/scenario"
)

// guestSettings hold in the guest's first namespace. Dirty pages go out every
// second, so that logs written through hostfs can be followed from outside; a
// congestion control that is not in the list is refused to every other namespace.
// They are the whole kernel's, so only a kernel of the lab's own gets them.
func guestSettings(s *scenario.Scenario) []Setting {
	allowed := append([]string{"reno", "cubic"}, s.CongestionControls()...)
	return []Setting{
		{"vm/dirty_writeback_centisecs", "100"},
		{"vm/dirty_expire_centisecs", "100"},
		{"net/ipv4/tcp_allowed_congestion_control", strings.Join(allowed, " ")},
	}
}

// routerSettings make a namespace a router. Labels are 0 to 1048575, 20 bits (RFC 3032).
func routerSettings(s *scenario.Scenario, r scenario.Router) []Setting {
	list := []Setting{
		{"net/ipv4/ip_forward", "1"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
		{"net/ipv4/conf/all/send_redirects", "0"},
		{"net/ipv4/conf/default/send_redirects", "0"},
		{"net/ipv4/fib_multipath_hash_policy", "1"},
		{"net/ipv6/conf/all/disable_ipv6", "1"},
	}
	if !s.IGP.SegmentRouting {
		return list
	}
	list = append(list, Setting{"net/mpls/platform_labels", "1048575"}, Setting{"net/mpls/conf/lo/input", "1"})
	for _, v := range r.VRFs { // a VPN's packets come out of their labels in the VRF
		list = append(list, Setting{"net/mpls/conf/" + v.Name + "/input", "1"})
	}
	for _, l := range s.Links {
		for _, e := range []scenario.Endpoint{l.A, l.B} {
			if e.Node == r.Name {
				list = append(list, Setting{"net/mpls/conf/" + e.Interface + "/input", "1"})
			}
		}
	}
	return list
}

// hostSettings make a namespace a well-tuned data transfer host: buffers for
// 100 ms at 1 Gbit/s, and no memory of what an earlier transfer saw.
func hostSettings() []Setting {
	return []Setting{
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
		{"net/ipv4/tcp_no_metrics_save", "1"},
		{"net/ipv4/tcp_rmem", "4096 131072 16777216"},
		{"net/ipv4/tcp_wmem", "4096 131072 16777216"},
		{"net/ipv6/conf/all/disable_ipv6", "1"},
	}
}
