package datapath

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/management"
)

const managementMark = 0x00ffffff

// request is a management packet as the agent sends it: not stamped, not signed.
func request(flow uint32, sequence uint64) []byte {
	b := make([]byte, management.Size)
	management.Packet{Kind: management.Request, Key: 1, FlowIndex: flow, VPN: 9, Ingress: pe1, Egress: pe2, Sequence: sequence}.Put(b)
	return b
}

// TestManagementRoundTrip takes a packet through all three programs: stamped, reflected, taken as feedback.
func TestManagementRoundTrip(t *testing.T) {
	ingress, egress := open(t, pe1, EDT, 16), open(t, pe2, EDT, 16)
	if err := egress.SetPeer(9, pe1, 11); err != nil {
		t.Fatal(err)
	}
	data := frame(addr("10.1.0.1"), addr("10.2.0.1"), make([]byte, 958))
	ingress.SetRate(3, 1e6, 1e9)
	for range 7 {
		run(t, ingress.CoreOut, data, skb{Mark: 4})
	}
	last := ingress.Flows[3].NextEdt
	egress.Received[11] = bpf.PeReceived{Packets: 5, Octets: 5000}

	for _, labels := range [][]uint32{nil, {16002}} {
		_, out, sent := run(t, ingress.CoreOut, frame(pe1, pe2, request(3, 42), labels...), skb{Mark: managementMark})
		if out.Tstamp < last {
			t.Errorf("the management packet departs at %d, before the data it follows (%d)", out.Tstamp, last)
		}
		p, err := management.Parse(sent[len(sent)-management.Size:], keys)
		if err != nil || p.Sent != 7 || p.Departure != out.Tstamp || p.Sequence != 42 {
			t.Fatalf("stamped %+v: %v", p, err)
		}
	}
	_, _, sent := run(t, ingress.CoreOut, frame(pe1, pe2, request(3, 43)), skb{Mark: managementMark})
	ingress.Flows[3].NextEdt = 0
	// Its departure lies in the future of this test; move it to now and sign again, as time would have.
	payload := sent[len(sent)-management.Size:]
	binary.BigEndian.PutUint64(payload[32:], Now())
	k, _ := keys.Find(1)
	management.Sign(payload, k)

	v, _, back := run(t, egress.CoreIn, sent, skb{})
	if v != redir {
		t.Fatalf("verdict %d of a request, want a redirect", v)
	}
	if [6]byte(back[:6]) != [6]byte(sent[6:12]) || [4]byte(back[30:34]) != pe1.As4() || [4]byte(back[26:30]) != pe2.As4() || back[22] != 64 {
		t.Errorf("the answer goes from %x to %x with TTL %d", back[26:30], back[30:34], back[22])
	}
	if got := binary.BigEndian.Uint16(back[24:]); got != sum(back[14:34]) {
		t.Errorf("IP checksum %#x, want %#x", got, sum(back[14:34]))
	}
	// The answer comes back to the port the request came from.
	binary.BigEndian.PutUint16(back[36:], port)
	if v, _, _ = run(t, ingress.CoreIn, back, skb{}); v != stolen {
		t.Fatalf("verdict %d of an answer", v)
	}
	e, ok := ingress.Feedback(3)
	if !ok || e.Sent != 7 || e.Received != 5 || e.ReceivedOctets != 5000 || e.Begin != 43 || e.Rtt == 0 || e.Rtt > 1e9 {
		t.Errorf("learnt %+v", e)
	}
	run(t, ingress.CoreIn, back, skb{})
	if n, _ := ingress.Count(6); n != 1 {
		t.Errorf("a replayed answer was counted as stale %d times, want once", n)
	}
}

func TestForgedAndBrokenPacketsAreCounted(t *testing.T) {
	d := open(t, pe2, EDT, 16)
	if err := d.SetPeer(9, pe1, 11); err != nil {
		t.Fatal(err)
	}
	k, _ := keys.Find(1)
	good := request(3, 1)
	management.Sign(good, k)
	change := func(at int, to byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = to
		return b
	}
	signed := func(b []byte) []byte { management.Sign(b, k); return b }
	const (
		reflected = 1
		malformed = 3
		forged    = 4
		unknown   = 5
	)
	for _, c := range []struct {
		name    string
		packet  []byte
		verdict int32
		count   int
	}{
		{"a good request", frame(pe1, pe2, good), redir, reflected},
		{"one wrong bit", frame(pe1, pe2, change(70, good[70]^1)), shot, forged},
		{"a key nobody has", frame(pe1, pe2, signed(change(4, 5))), shot, forged},
		{"a key number out of range", frame(pe1, pe2, signed(change(4, 200))), shot, forged},
		{"from another address than it says", frame(addr("10.255.0.9"), pe2, good), shot, forged},
		{"a version to come", frame(pe1, pe2, signed(change(2, 2))), shot, malformed},
		{"a kind nobody knows", frame(pe1, pe2, signed(change(3, 9))), shot, malformed},
		{"a VPN this PE does not have", frame(pe1, pe2, signed(change(15, 10))), shot, unknown},
		{"too short", frame(pe1, pe2, good[:40]), unspec, -1},
		{"not ours at all", frame(pe1, pe2, make([]byte, 72)), unspec, -1},
		{"for another host", frame(pe1, addr("10.255.0.7"), good), unspec, -1},
		{"a request sent back as an answer", frame(pe1, pe2, change(3, 2)), shot, forged},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before uint64
			if c.count >= 0 {
				before, _ = d.Count(c.count)
			}
			v, _, _ := run(t, d.CoreIn, c.packet, skb{})
			if v != c.verdict {
				t.Errorf("verdict %d, want %d", v, c.verdict)
			}
			if c.count >= 0 {
				if after, _ := d.Count(c.count); after != before+1 {
					t.Errorf("counter %s grew by %d, want 1", CounterNames[c.count], after-before)
				}
			}
		})
	}
}

func FuzzCoreIn(f *testing.F) {
	d := open(f, pe2, EDT, 16)
	_ = d.SetPeer(9, pe1, 11)
	k, _ := keys.Find(1)
	good := request(3, 1)
	management.Sign(good, k)
	f.Add(frame(pe1, pe2, good))
	f.Add(frame(pe1, pe2, good[:50]))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) < 14 || len(packet) > 3000 {
			return
		}
		v, err := d.CoreIn.Run(&ebpf.RunOptions{Data: packet, Context: skb{Ifindex: 1}})
		if errors.Is(err, unix.EINVAL) {
			return // the kernel does not make such a frame: too short for what its type says
		}
		if err != nil {
			t.Fatal(err)
		}
		if v == redir {
			if _, err := management.Parse(packet[42:], keys); len(packet) == 114 && err != nil {
				t.Errorf("%x was reflected: %v", packet, err)
			}
		}
	})
}
