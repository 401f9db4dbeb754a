package lab

import (
	"fmt"

	"github.com/millrace/millrace/scenario"
)

// joinLink plans one link and returns the lines that make its interfaces.
//
// A sending interface's root qdisc is a tbf: line rate and one FIFO, the whole
// default behaviour of a port in one classless qdisc, which the router's agent
// replaces by its scheduler and puts back. Delay and loss must survive that, so
// they live in the middle of the cable, in the wire namespace:
//
//	WR ge-er [tbf] ── w0a → redirect → [netem] w0b ── ge-wr ER
func joinLink(s *scenario.Scenario, place int, nodes map[string]*NodePlan) []string {
	l := s.Links[place]
	prefixA, prefixB := s.LinkAddresses(place)
	for side, end := range []scenario.Endpoint{l.A, l.B} {
		n := nodes[end.Node]
		prefix := prefixA
		if side == 1 {
			prefix = prefixB
		}
		n.Plain = append(n.Plain, end.Interface)
		if h, ok := s.Host(end.Node); ok && h.Paced {
			n.Batch.TC = append(n.Batch.TC, pacedLine(end.Interface, l)...)
		} else {
			n.Batch.TC = append(n.Batch.TC, fmt.Sprintf("qdisc add dev %s %s", end.Interface, lineRate(l)))
		}
		n.Batch.IP = append(n.Batch.IP,
			fmt.Sprintf("address add %s dev %s", prefix, end.Interface), fmt.Sprintf("link set %s up", end.Interface))
	}
	if l.Delay == 0 && l.Loss == 0 {
		return []string{fmt.Sprintf("link add %s address %s mtu %d numtxqueues 1 numrxqueues 1 netns %s type veth peer name %s address %s mtu %d numtxqueues 1 numrxqueues 1 netns %s",
			l.A.Interface, mac(1, place, 0), l.MTU, l.A.Node, l.B.Interface, mac(1, place, 1), l.MTU, l.B.Node)}
	}
	w := nodes[wire]
	inner := [2]string{wireEnd(place, 0), wireEnd(place, 1)}
	var lines []string
	for side, end := range []scenario.Endpoint{l.A, l.B} {
		lines = append(lines, fmt.Sprintf("link add %s address %s mtu %d numtxqueues 1 numrxqueues 1 netns %s type veth peer name %s mtu %d numtxqueues 1 numrxqueues 1 netns %s",
			end.Interface, mac(1, place, side), l.MTU, end.Node, inner[side], l.MTU, wire))
		w.Plain = append(w.Plain, inner[side])
		w.Batch.IP = append(w.Batch.IP, fmt.Sprintf("link set %s up", inner[side]))
		w.Batch.TC = append(w.Batch.TC,
			fmt.Sprintf("qdisc add dev %s root netem %s", inner[side], impairment(l)),
			fmt.Sprintf("qdisc add dev %s clsact", inner[side]),
			fmt.Sprintf("filter add dev %s ingress matchall action mirred egress redirect dev %s", inner[side], inner[1-side]))
	}
	return lines
}

// wireEnd is the interface in the wire namespace that faces one side of a link.
func wireEnd(place, side int) string { return fmt.Sprintf("w%d%c", place, 'a'+side) }

// lineRate is the port as a qdisc. The burst is how much the port may send at once: two packets or 2 ms,
// whichever is more: a timer may be late by as much (one UML processor carries everything) without the port
// losing rate. The limit counts bytes.
func lineRate(l scenario.Link) string {
	burst := max(2*(l.MTU+14), int(uint64(l.Rate)/8/500))
	return fmt.Sprintf("root tbf rate %dbit burst %d limit %d", uint64(l.Rate), burst, uint64(l.Buffer))
}

// impairment has a limit that holds everything in flight at line rate in the
// smallest packets (64 bytes), plus slack: the wire never drops by itself.
func impairment(l scenario.Link) string {
	inFlight := uint64(float64(l.Rate)/8*l.Delay.Seconds())/64 + 10000
	text := fmt.Sprintf("limit %d delay %dus", inFlight, l.Delay.Microseconds())
	if l.Loss > 0 {
		text += fmt.Sprintf(" loss random %.6f%%", l.Loss*100)
	}
	return text
}

// joinVRFs plans a router's VRF devices, which are made before the interfaces
// that move into them get addresses.
func joinVRFs(r scenario.Router, n *NodePlan) (root []string) {
	for _, v := range r.VRFs {
		root = append(root, fmt.Sprintf("link add %s netns %s type vrf table %d", v.Name, r.Name, v.Table))
		n.Batch.IP = append(n.Batch.IP, fmt.Sprintf("link set %s up", v.Name))
		for _, i := range v.Interfaces {
			n.Batch.IP = append(n.Batch.IP, fmt.Sprintf("link set %s master %s", i, v.Name))
		}
	}
	return root
}
