package exporter

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What an exporter defined before it was started again does not hold any more (RFC 3954 section 9), wherever its
// sequence number stood; an uptime that wraps is no restart.
func TestARestartIsSeenWhereverTheNumbersStood(t *testing.T) {
	const wraps = 1<<32 - 60_000 // ms: a minute before the uptime wraps
	for _, c := range []struct {
		last, next       uint32 // sequence numbers
		uptime, uptimeOf uint32 // then, and five minutes later
		restarts         bool
	}{
		{900, 0, 86_400_000, 30_000, true},
		{900, 903, 86_400_000, 30_000, true}, // its first three datagrams are lost
		{1 << 30, 0, 86_400_000, 30_000, true},
		{2_436_874_581, 0, 86_400_000, 30_000, true},
		{4_000_000_000, 0, 86_400_000, 30_000, true},
		{900, 901, wraps, 240_000, false},
		{1<<32 - 1, 0, wraps, 240_000, false},
		{900, 901, 86_400_000, 86_700_000, false},
	} {
		t.Run(fmt.Sprint(c.last, " ", c.next, " ", c.uptimeOf), func(t *testing.T) {
			b := newBench(t, nil)
			b.take(router, v9(header{seq: c.last, uptime: c.uptime}, tmpl(9), flows(1, c.uptime)))
			b.now = epoch.Add(5 * time.Minute)
			records := len(b.take(router, v9(header{seq: c.next, at: b.now, uptime: c.uptimeOf}, flows(1, c.uptimeOf))))
			if restarts, kept := b.only().Events[EventRestart] == 1, records == 1; restarts != c.restarts || kept == c.restarts {
				t.Errorf("restart %t, template kept %t; want %t, %t; events %v", restarts, kept, c.restarts, !c.restarts, b.only().Events)
			}
		})
	}
}

// TestSoftflowdHasNoLoss runs the captures of a real exporter, which counts
// IPFIX records in its own way.
func TestSoftflowdHasNoLoss(t *testing.T) {
	for _, name := range []string{"5-s1", "9-s1", "9-live", "10-s1"} {
		t.Run(name, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "softflowd", name+"-*.bin"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no capture: %v", err)
			}
			b := newBench(t, nil)
			b.now = time.Date(2026, 11, 21, 12, 37, 55, 0, time.UTC)
			n := 0
			for _, p := range paths {
				d, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				n += len(b.take(router, d))
			}
			q := b.only()
			b.want("datagrams", q.Datagrams, uint64(len(paths)))
			b.want("records", q.Records, uint64(n))
			b.want("lost", q.Lost, uint64(0))
			b.want("drops", q.Drops, map[string]uint64{})
			b.want("events", q.Events, map[string]uint64{})
		})
	}
}

func TestSequences(t *testing.T) {
	const second = time.Second
	v9flow := func(h header) []byte { return v9(h, tmpl(9), flows(2, hour)) }
	v5flow := func(h header) []byte { return v5(h, 0, 3) }
	v10flow := func(h header) []byte { return ipfix10(h, tmpl(10), flows(2, hour)) }
	for _, c := range []struct {
		name      string
		datagrams [][]byte
		lost      uint64
		events    map[string]uint64
		drops     map[string]uint64
		records   uint64
	}{
		{"v9 counts packets", [][]byte{v9flow(header{seq: 10}), v9flow(header{seq: 11}), v9flow(header{seq: 15})}, 3, nil, nil, 6},
		{"v5 counts records", [][]byte{v5flow(header{seq: 100}), v5flow(header{seq: 103}), v5flow(header{seq: 116})}, 10, nil, nil, 9},
		{"IPFIX counts records sent before", [][]byte{v10flow(header{seq: 50}), v10flow(header{seq: 52}), v10flow(header{seq: 59})}, 5, nil, nil, 6},
		{"the number wraps", [][]byte{v9flow(header{seq: 0xffffffff}), v9flow(header{seq: 0})}, 0, nil, nil, 4},
		{"the number wraps in a gap", [][]byte{v9flow(header{seq: 0xfffffffe}), v9flow(header{seq: 1})}, 2, nil, nil, 4},
		{"a late datagram was not lost", [][]byte{v9flow(header{seq: 1}), v9flow(header{seq: 3}), v9flow(header{seq: 2})}, 0,
			map[string]uint64{EventLate: 1}, nil, 6},
		{"a replay is dropped", [][]byte{v9flow(header{seq: 1}), v9flow(header{seq: 2}), v9flow(header{seq: 1}), v9flow(header{seq: 2})}, 0,
			nil, map[string]uint64{string(ReasonReplayed): 2}, 4},
		{"a restart is no loss", [][]byte{v9flow(header{seq: 90_000}), v9(header{seq: 1, at: epoch.Add(9 * second), uptime: 5000}, tmpl(9), flows(2, 5000))}, 0,
			map[string]uint64{EventRestart: 1}, nil, 4},
		{"IPFIX restarts too, which the third datagram proves", [][]byte{v10flow(header{seq: 90_000}), v10flow(header{seq: 0, at: epoch.Add(second)}),
			v10flow(header{seq: 2, at: epoch.Add(second)}), v10flow(header{seq: 4, at: epoch.Add(second)}), v10flow(header{seq: 8, at: epoch.Add(second)})}, 2,
			map[string]uint64{EventLate: 2, EventRestart: 1}, nil, 10},
		{"numbers that begin anew while the exporter runs on", [][]byte{v9flow(header{seq: 90_000}), v9flow(header{seq: 1, at: epoch.Add(second), uptime: hour + 1000}),
			v9flow(header{seq: 2, at: epoch.Add(second), uptime: hour + 1000}), v9flow(header{seq: 3, at: epoch.Add(second), uptime: hour + 1000}),
			v9flow(header{seq: 5, at: epoch.Add(second), uptime: hour + 1000})}, 1,
			map[string]uint64{EventLate: 2, EventRestart: 1}, nil, 10},
		{"a jump ahead is no loss", [][]byte{v9flow(header{seq: 1}), v9flow(header{seq: 1 << 30})}, 0,
			map[string]uint64{EventSequenceJump: 1}, nil, 4},
		{"after a set without template nothing is known in IPFIX",
			[][]byte{v10flow(header{seq: 5}), ipfix10(header{seq: 7}, set(999, u32(1, 2))), v10flow(header{seq: 77}), v10flow(header{seq: 80})}, 1,
			nil, map[string]uint64{string(ReasonNoTemplate): 1}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(c *Configuration) { c.DefaultSamplingRate = 1 })
			b.now = epoch.Add(4 * second)
			b.take(router, c.datagrams...)
			q := b.only()
			b.want("lost", q.Lost, c.lost)
			b.want("records", q.Records, c.records)
			b.want("events", q.Events, orEmpty(c.events))
			b.want("drops", q.Drops, orEmpty(c.drops))
		})
	}
}

func orEmpty(m map[string]uint64) map[string]uint64 {
	if m == nil {
		return map[string]uint64{}
	}
	return m
}

func TestLossRatioIsInTheUnitsOfTheSequence(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, tmpl(9), flows(5, hour)), v9(header{seq: 4}, flows(5, hour)))
	b.want("loss ratio", b.only().LossRatio, 0.5) // 2 of 4 packets
}

func TestRestartForgetsTemplates(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 900}, tmpl(9), flows(1, hour)))
	got := b.take(router, v9(header{seq: 1, at: epoch.Add(10 * time.Second), uptime: 3000}, flows(1, hour)))
	b.want("records", len(got), 0)
	b.want("drops", b.only().Drops, map[string]uint64{string(ReasonNoTemplate): 1})
}

// TestOneForgedDatagramClearsNoTemplates: an attacker who knows address, port and domain can put one between the
// exporter's own.
func TestOneForgedDatagramClearsNoTemplates(t *testing.T) {
	soon := epoch.Add(time.Second)
	for _, c := range []struct {
		name   string
		forged []byte
	}{
		{"v9, a number far back", v9(header{seq: 5_000_000 - 1<<21, at: soon}, set(999, u32(1)))},
		{"v9, a number back, later", v9(header{seq: 4_000_000, at: soon}, set(999, u32(1)))},
		{"v9, a number ahead, later", v9(header{seq: 5_000_500, at: soon}, set(999, u32(1)))},
		{"IPFIX, a number far back", ipfix10(header{seq: 5_000_000 - 1<<21, at: soon}, set(999, u32(1)))},
		{"IPFIX, a number back, later", ipfix10(header{seq: 4_000_000, at: soon}, set(999, u32(1)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			datagram, version := v9, uint16(9)
			if c.forged[1] == 10 {
				datagram, version = ipfix10, 10
			}
			b.take(router, datagram(header{seq: 5_000_000}, tmpl(version), flows(1, hour)), c.forged)
			for i := range uint32(600) {
				h := header{seq: 5_000_001 + i, at: epoch.Add(2 * time.Second), uptime: hour + 2000}
				if got := b.take(router, datagram(h, flows(1, h.uptime))); len(got) != 1 {
					t.Fatalf("datagram %d after it: %d records, want 1", i+1, len(got))
				}
			}
			if q := b.only(); q.LossRatio > 0.01 {
				t.Errorf("lost %d (%.2g), want no more than the forged one can hide", q.Lost, q.LossRatio)
			}
		})
	}
}
