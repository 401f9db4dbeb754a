//go:build k8s

package k8s

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/transfers"
)

// A cluster keeps an exporter with its collector, and gives a new one to any of them. Eight exporters send before there
// are more collectors; then others begin, until each collector has one. There are enough but once in 10⁹ runs.
const earlyExporters, manyExporters = 8, 64

func exporterAddress(i int) string { return fmt.Sprintf("10.77.0.%d", 20+i) }

// exporters are the addresses of the router outside.
func exporters() []string {
	all := []string{kubenode.Outside}
	for i := range manyExporters {
		all = append(all, exporterAddress(i))
	}
	return all
}

// senders are exporters that send until ctx ends, each from an address of its own.
type senders struct {
	w       *world
	of      transfers.Transfer
	ctx     context.Context
	running sync.WaitGroup
	began   int
	sent    [manyExporters]uint64
}

// more begins n further ones.
func (s *senders) more(t *testing.T, n int) {
	t.Helper()
	for range n {
		i := s.began
		own(t, exporterAddress(i))
		s.running.Go(func() { s.sent[i] = s.w.sending(s.ctx, t, exporterAddress(i), s.of) })
		s.began++
	}
}

// untilEach waits until there are as many collectors, and each gets datagrams: what began before stays with its own.
func (s *senders) untilEach(t *testing.T, collectors int) {
	t.Helper()
	kubenode.Until(t, fmt.Sprintf("each of %d collectors gets datagrams", collectors), func() (bool, any) {
		got := s.w.datagrams(t)
		if len(got) == collectors && slices.Min(got) > 100 {
			return true, got
		}
		if s.began < manyExporters && len(got) == collectors && slices.Contains(got, 0) {
			s.more(t, 1)
		}
		return false, got
	})
}

// total is how many datagrams they have sent, once ctx has ended.
func (s *senders) total(t *testing.T) (all uint64) {
	t.Helper()
	s.running.Wait()
	for _, n := range s.sent {
		all += n
	}
	t.Logf("%d datagrams of %d exporters", all, s.began)
	return all
}

// sending sends one datagram after the other from an address, until ctx ends, and returns how many the kernel took.
func (w *world) sending(ctx context.Context, t *testing.T, from string, of transfers.Transfer) (sent uint64) {
	c, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "udp", net.JoinHostPort(kubenode.Address, strconv.Itoa(flowPort)))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer c.Close()
	boot := time.Now().Add(-time.Hour)
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		// A port where nobody listens is an error of the next datagram. The one before is lost, and missed at the end.
		if _, err := c.Write(of.V5(boot, time.Now().Add(-time.Minute), uint32(sent))); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
		sent++
	}
	return sent
}

// scaled adds two collectors and takes them away again, while exporters send: the record of each datagram is stored.
func (w *world) scaled(t *testing.T) {
	for i := 1; i <= 2; i++ {
		name := fmt.Sprint("flow-", i)
		w.node.Run(t, "mkdir", "-p", "/var/lib/disk-"+name)
		w.node.Apply(t, fmt.Sprintf(partVolumes, name, "1Gi"))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exporters := &senders{w: w, ctx: ctx, of: transfers.Transfer{Src: "10.25.0.5", Dst: "10.26.0.9", Bytes: 1_000_000}}
	exporters.more(t, earlyExporters)
	if out, err := w.upgrade(t, "--set", "parts.replicas.flow=3"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exporters.untilEach(t, 3)
	if out, err := w.upgrade(t, "--set", "parts.replicas.flow=1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := 1; i <= 2; i++ {
		w.node.Kubectl(t, "wait", "--for=delete", fmt.Sprint("pod/millrace-flow-", i), "--timeout", kubenode.Patience.String())
	}
	stop()
	w.holds(t, exporters.of, exporters.total(t))
}

// datagrams are how many came to each pod of a collector, by its kernel.
func (w *world) datagrams(t *testing.T) (all []uint64) {
	t.Helper()
	for _, pid := range strings.Fields(w.node.Run(t, "pgrep", "--full", "/millrace serve flow ")) {
		for _, line := range strings.Split(w.node.Run(t, "cat", "/proc/"+pid+"/net/snmp"), "\n") {
			f := strings.Fields(line)
			if len(f) < 2 || f[0] != "Udp:" {
				continue
			}
			if n, err := strconv.ParseUint(f[1], 10, 64); err == nil { // the other line has the names
				all = append(all, n)
			}
		}
	}
	return all
}
