package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// flow is a stream of datagrams through a router, one pair of the rule set, while the set is exchanged.
type flow struct {
	*loaded
	from, to *net.UDPConn
	sent     atomic.Int64
	received atomic.Int64
}

// outcome counts what became of the packets of a flow.
type outcome struct {
	Sent, Received int64
	// Queued went through the queue of their class, Matched were counted by their rule.
	Queued, Matched int64
}

const (
	alpha, beta = 1, 2 // classes
	flowRule    = 7    // the pair the flow is of
)

var flowDestination = netip.MustParseAddr("198.51.100.9")

// flowRules are 20,000 pairs, one of them the flow's in every generation.
func flowRules(generation int) []kernel.Rule {
	rules := rulesOf(manyPairs(thousands, generation))
	rules[flowRule] = kernel.Rule{Sequence: flowRule + 1, Src: netip.MustParsePrefix("10.0.1.0/24"), Dst: netip.MustParsePrefix("198.51.100.0/24"), Mark: kernel.Mark(alpha, 0), Counter: flowRule}
	return rules
}

func (f *flow) spec(rules []kernel.Rule) kernel.Spec {
	return kernel.Spec{
		Ports: map[string]kernel.Port{"ge-b": {Speed: 100e6, Default: beta, Queues: []kernel.Queue{
			{Name: "te-alpha", Class: alpha, Rate: 95e6, Quantum: 28766, Buffer: 1187500},
			{Name: "te-beta", Class: beta, Rate: 5e6, Priority: 1, Quantum: 1514, Buffer: 62500},
		}}},
		Policies: map[string][]kernel.Rule{"te-in": rules}, Bindings: map[string]string{"ge-a": "te-in"},
	}
}

// newFlow puts a sender before the router and a receiver behind it, in a namespace of its own.
func newFlow(b *bed) (*flow, error) {
	f := &flow{}
	var err error
	if f.loaded, err = openKernel(b); err != nil {
		return nil, err
	}
	r := f.router
	far := r.Name + "r"
	r.Run("ip", "netns", "add", far)
	b.Cleanup(func() { r.Run("ip", "netns", "del", far) })
	r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "netns", far)
	for _, args := range [][]string{
		{"-n", far, "addr", "add", "10.0.2.2/24", "dev", "ge-b"}, {"-n", far, "link", "set", "ge-b", "up"}, {"-n", far, "link", "set", "lo", "up"},
		{"-n", far, "addr", "add", flowDestination.String() + "/32", "dev", "lo"}, {"-n", far, "route", "add", "default", "via", "10.0.2.1"},
		{"-n", r.Peer, "route", "add", "198.51.100.0/24", "via", "10.0.1.1"}, {"-n", r.Name, "route", "add", "198.51.100.0/24", "via", "10.0.2.2"},
	} {
		r.Run(append([]string{"ip"}, args...)...)
	}
	if err := f.Ensure(f.spec(nil)); err != nil {
		return nil, err
	}
	if f.to, err = socket(far, "198.51.100.9:9"); err != nil {
		return nil, err
	}
	b.Cleanup(func() { f.to.Close() })
	if f.from, err = socket(r.Peer, "10.0.1.2:9"); err != nil {
		return nil, err
	}
	b.Cleanup(func() { f.from.Close() })
	return f, f.to.SetReadBuffer(16 << 20)
}

// socket is a UDP socket in a namespace.
func socket(namespace, address string) (*net.UDPConn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		return nil, err
	}
	defer home.Close()
	there, err := netns.GetFromName(namespace)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if err := netns.Set(there); err != nil {
		return nil, err
	}
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	return c, errors.Join(err, netns.Set(home))
}

// during sends packets as long as work goes on, and tells what became of them.
func (f *flow) during(work func() error) (outcome, error) {
	before, err := f.counters()
	if err != nil {
		return outcome{}, err
	}
	f.sent.Store(0)
	f.received.Store(0)
	stop, sender, receiver := make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() { receiver <- f.receive() }()
	go func() { sender <- f.send(stop) }()
	err = work()
	close(stop)
	err = errors.Join(err, <-sender, <-receiver)
	after, cerr := f.counters()
	return outcome{Sent: f.sent.Load(), Received: f.received.Load(), Queued: after.Queued - before.Queued, Matched: after.Matched - before.Matched}, errors.Join(err, cerr)
}

func (f *flow) counters() (outcome, error) {
	queues, err := f.PortCounters("ge-b")
	if err != nil {
		return outcome{}, err
	}
	counted, err := f.RuleCounters([]int{flowRule})
	return outcome{Queued: int64(queues[alpha].Packets), Matched: int64(counted[flowRule].Packets)}, err
}

// send is paced to some 20,000 packets a second, far below the link rate.
func (f *flow) send(stop chan struct{}) error {
	packet := make([]byte, 64)
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(flowDestination, 9))
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		for range 20 {
			binary.BigEndian.PutUint64(packet, uint64(f.sent.Load()))
			if _, err := f.from.WriteTo(packet, to); err != nil {
				return err
			}
			f.sent.Add(1)
		}
		time.Sleep(time.Millisecond)
	}
}

// silence ends the waiting for packets.
const silence = time.Second

// receive counts each packet once, until nothing has come for a while.
func (f *flow) receive() error {
	seen := map[uint64]bool{}
	packet := make([]byte, 100)
	for {
		if err := f.to.SetReadDeadline(time.Now().Add(silence)); err != nil {
			return err
		}
		n, _, err := f.to.ReadFrom(packet)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if id := binary.BigEndian.Uint64(packet[:n]); !seen[id] {
			seen[id] = true
			f.received.Add(1)
		}
	}
}

// swaps exchanges 20,000 pairs for others again and again.
func (f *flow) swaps(n int) error {
	sets := [][]kernel.Rule{flowRules(0), flowRules(1)}
	for i := range n {
		if err := f.converge(f.spec(sets[i%2])); err != nil { // prunes too: every set is loaded anew
			return err
		}
	}
	return nil
}

// swapsPerRun of 20,000 pairs while packets pass.
const swapsPerRun = 20

func benchSwap(t *table, runs int) error {
	r := t.row("millrace: 20,000 pairs swapped under traffic", fmt.Sprintf("%d swaps per run", swapsPerRun))
	sum := outcome{}
	for range runs {
		if err := inBed(func(b *bed) error {
			f, err := newFlow(b)
			if err != nil {
				return err
			}
			if err := f.converge(f.spec(flowRules(1))); err != nil {
				return err
			}
			var took time.Duration
			o, err := f.during(func() error {
				start := time.Now()
				defer func() { took = time.Since(start) }()
				return f.swaps(swapsPerRun)
			})
			r.add(took/swapsPerRun, 0)
			sum = outcome{sum.Sent + o.Sent, sum.Received + o.Received, sum.Queued + o.Queued, sum.Matched + o.Matched}
			return err
		}); err != nil {
			return err
		}
	}
	t.notef("%d packets of one flow sent during the swaps, %d lost, %d not in their queue, %d not matched by their rule", sum.Sent, sum.Sent-sum.Received, sum.Sent-sum.Queued, sum.Sent-sum.Matched)
	return nil
}
