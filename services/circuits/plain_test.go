package circuits

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
)

// Packets of a circuit have labels, and end at a router that runs no segment routing. Where Millrace puts no circuit on
// routers, others may have other means, and so they may where nobody runs it.
func TestNoCircuitIsLedOverARouterWithoutSegmentRouting(t *testing.T) {
	for _, tt := range []struct {
		name, policy string
		labels       [3]uint32
		granted      bool
		reason       string
	}{
		{"all run it", policyOfCircuits, [3]uint32{16001, 16002, 16003}, true, ""},
		{"the one between does not", policyOfCircuits, [3]uint32{16001, 0, 16003}, false, "; no segment routing runs on b"},
		{"the ends do not", policyOfCircuits, [3]uint32{0, 16002, 0}, true, ""},
		{"nobody does", policyOfCircuits, [3]uint32{}, true, ""},
		{"circuits are only booked", "", [3]uint32{16001, 0, 16003}, true, ""},
	} {
		cfg := DefaultConfiguration()
		cfg.Provision.Policy = tt.policy
		b := newBook(cfg)
		b.guarantee = atFirst(DefaultConfiguration()) // as the policy would guarantee it
		if err := b.rebuild(chain(tt.labels), func(func(*circuitsv1.Record) bool) {}); err != nil {
			t.Fatal(err)
		}
		_, no := b.admit.Decide(admit.Request{ID: "1", From: "10.0.0.1", To: "10.0.0.3", Rate: 1, Window: calendar.Window{Start: 1, End: 2}, Cap: calendar.Hard})
		if (no == nil) != tt.granted || no != nil && (no.Code != admit.NoPath || !strings.HasSuffix(no.Reason, tt.reason)) {
			t.Errorf("%s: %+v", tt.name, no)
		}
	}
}

// chain is a, b and c, one after the other.
func chain(labels [3]uint32) *topo.Graph {
	s := topo.Snapshot{Area: "0.0.0.0"}
	id := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }
	for i, label := range labels {
		s.Nodes = append(s.Nodes, topo.Node{ID: id(i), Name: string(rune('a' + i)), Loopback: id(i), SIDLabel: label})
	}
	for _, ends := range [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}} {
		from, to := id(ends[0]), id(ends[1])
		local, remote := netip.AddrFrom4([4]byte{10, 1, byte(ends[0]), byte(ends[1])}), netip.AddrFrom4([4]byte{10, 1, byte(ends[1]), byte(ends[0])})
		s.Links = append(s.Links, topo.Link{
			ID: from.String() + "|" + local.String(), From: from, To: to, LocalAddress: local, RemoteAddress: remote, Metric: 10, Bandwidth: giga,
		})
	}
	return topo.NewGraph(s)
}
