package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/scenario"
)

// A paced host is a traffic generator. Every stream has an HTB class of its own rate, and the sending program keeps
// packets for pacedAhead in it. What the host offers then follows the kernel's timers: a program that is late by less
// than pacedAhead leaves neither a gap, which the router would fill with other classes, nor a burst, which the host's
// own link would drop.
const (
	pacedAhead = time.Second
	// pacedBurst is how late a timer may be without the stream losing rate: as late as a router's port (the
	// agent's HTB has a packet and 2 ms), so that a stall costs both the same, and the load stays that of
	// the file.
	pacedBurst = 2 * time.Millisecond
	// pacedLimit is the stream's queue in bytes: far above pacedAhead
	// at any rate a lab reaches, so that it never drops.
	pacedLimit = 16 << 20
	// pacedDefault is the HTB class of what is no stream: ARP, answers to ping.
	pacedDefault = 1
	// pacedFirst is the class of the host's first stream in a phase.
	pacedFirst = 16
)

// pacedLine is a paced host's port. Streams get their classes when a phase begins. Their sum fits the link
// (scenario checks it), so the classes need no common parent.
func pacedLine(name string, l scenario.Link) []string {
	return []string{
		fmt.Sprintf("qdisc add dev %s root handle 1: htb default %x", name, pacedDefault),
		pacedClass("add", name, pacedDefault, float64(l.Rate), l.MTU),
		fmt.Sprintf("qdisc add dev %s parent 1:%x bfifo limit %d", name, pacedDefault, uint64(l.Buffer)),
	}
}

// pacedClass is one class. The burst is a packet and pacedBurst, and two packets
// at least. HTB demands a quantum; a class that never borrows makes no use of it.
func pacedClass(verb, name string, class uint32, rate float64, mtu int) string {
	burst := mtu + 14 + max(mtu+14, int(rate/8*pacedBurst.Seconds()))
	return fmt.Sprintf("class %s dev %s parent 1: classid 1:%x htb rate %.0fbit burst %d cburst %d quantum %d", verb, name, class, rate, burst, burst, mtu+14)
}

// pacing are the lines for tc that give a phase's streams their classes, by paced host.
func pacing(s *scenario.Scenario, p scenario.Phase) map[string][]string {
	lines, next := map[string][]string{}, map[string]uint32{}
	for _, a := range p.Applications {
		h, _ := s.Host(a.From)
		_, l, ok := s.Attachment(a.From)
		if !h.Paced || !ok {
			continue
		}
		class := pacedFirst + next[a.From]
		next[a.From]++
		lines[a.From] = append(lines[a.From], pacedClass("replace", hostPort, class, a.WireRate(), l.MTU),
			fmt.Sprintf("qdisc replace dev %s parent 1:%x handle %x: bfifo limit %d", hostPort, class, class, pacedLimit))
	}
	return lines
}

// hostPort is a host's one interface.
const hostPort = "eth0"

// pace prepares the ports of paced hosts.
func (r *phaseRun) pace(ctx context.Context) error {
	for host, lines := range pacing(r.lab.Scenario, r.phase) {
		in := strings.NewReader(strings.Join(lines, "\n") + "\n")
		if err := r.lab.Exec(ctx, host, []string{"tc", "-batch", "-"}, Stream{Stdin: in}); err != nil {
			return fmt.Errorf("pace the streams of %s: %w", host, err)
		}
	}
	return nil
}
