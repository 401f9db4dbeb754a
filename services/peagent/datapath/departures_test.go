package datapath

import "testing"

func TestDeparturesKeepTheRate(t *testing.T) {
	d := open(t, pe1, EDT, 8)
	packet := frame(addr("10.1.0.1"), addr("10.2.0.1"), make([]byte, 958)) // 1,000 bytes
	d.SetRate(3, 1e4, 550_000_000)                                         // 100 ms a packet, 5.5 packets of queue: slow, so that a busy machine changes nothing
	var departures []uint64
	drops := 0
	for range 10 {
		v, out, _ := run(t, d.CoreOut, packet, skb{Mark: 4})
		if v == shot {
			drops++
			continue
		}
		departures = append(departures, out.Tstamp)
	}
	if len(departures) < 6 || drops != 10-len(departures) || drops == 0 {
		t.Fatalf("%d packets passed, %d dropped; the queue holds five or six", len(departures), drops)
	}
	for i := 1; i < len(departures); i++ {
		// The cost is rounded to 2^-16 ns per byte.
		if gap := int64(departures[i] - departures[i-1]); gap < 99_999_999 || gap > 100_000_001 {
			t.Errorf("packet %d departs %d ns after the one before, want 100 ms", i, gap)
		}
	}
	f := d.Flows[3]
	if f.Packets != uint64(len(departures)) || f.Drops != uint64(drops) || f.Octets != 1000*f.Packets || f.Queued != f.Packets-1 {
		t.Errorf("%+v", f)
	}
}

func TestAClassThatChangesItsRateMovesDepartures(t *testing.T) {
	const now = 1_000_000
	for _, c := range []struct {
		name               string
		at, from, to, want uint64
	}{
		{"four times the rate", now + 800, 400, 100, now + 200},
		{"a fourth of the rate", now + 200, 100, 400, now + 800},
		{"gone already", now - 1, 400, 100, now - 1},
		{"never sent", 0, 400, 100, 0},
		{"no limit before", now + 800, 0, 100, now + 800},
		{"no limit from now on", now + 800, 400, 0, now + 800},
	} {
		if got := RescaledEDT(c.at, now, c.from, c.to); got != c.want {
			t.Errorf("%s: leaves at %d, want %d", c.name, got, c.want)
		}
	}
}

func TestModesAndFailOpen(t *testing.T) {
	packet := frame(addr("10.1.0.1"), addr("10.2.0.1"), make([]byte, 958), 16003, 17)
	t.Run("HTB gets a class", func(t *testing.T) {
		d := open(t, pe1, HTB, 8)
		d.SetRate(3, 1e6, 5_500_000)
		if _, out, _ := run(t, d.CoreOut, packet, skb{Mark: 4}); out.Priority != htbMajor<<16|classMinor+3 || out.Tstamp != 0 {
			t.Errorf("priority %#x, departure %d", out.Priority, out.Tstamp)
		}
	})
	t.Run("a GSO packet counts as what it becomes", func(t *testing.T) {
		d := open(t, pe1, EDT, 8)
		run(t, d.CoreOut, packet, skb{Mark: 4, GsoSegs: 5, WireLen: 5000})
		if f := d.Flows[3]; f.Packets != 5 || f.Octets != 5000 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("an uncontrolled flow is counted only", func(t *testing.T) {
		d := open(t, pe1, EDT, 8)
		for range 1000 {
			if v, out, _ := run(t, d.CoreOut, packet, skb{Mark: 4}); v != unspec || out.Tstamp != 0 {
				t.Fatalf("verdict %d, departure %d", v, out.Tstamp)
			}
		}
		if d.Flows[3].Packets != 1000 {
			t.Errorf("%+v", d.Flows[3])
		}
	})
	t.Run("without a live agent nothing is held or dropped", func(t *testing.T) {
		d := open(t, pe1, EDT, 8)
		d.SetRate(3, 1, 1)
		d.KeepAlive(Now() - 1)
		for range 100 {
			if v, out, _ := run(t, d.CoreOut, packet, skb{Mark: 4}); v != unspec || out.Tstamp != 0 {
				t.Fatalf("verdict %d, departure %d", v, out.Tstamp)
			}
		}
		if n, err := d.Count(9); err != nil || n != 100 {
			t.Errorf("%d counted as open (%v), want 100", n, err)
		}
	})
	t.Run("a mark of no flow is nobody's", func(t *testing.T) {
		d := open(t, pe1, EDT, 8)
		if v, _, _ := run(t, d.CoreOut, packet, skb{Mark: 4000}); v != unspec {
			t.Errorf("verdict %d", v)
		}
	})
}
