package exporter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// sflow5 has one flow sample, 1:512, of an IPv4 packet of 1500 bytes, and one counter sample.
func sflow5(seq, uptime uint32) []byte {
	packet := append(u16(0x4500, 1500, 0, 0, 0x4001, 0), u32(0x0a000001, 0x0a000002)...)
	sample := append(u32(1, 2, 512, 1000, 0, 3, 4, 1, 1, 16+20, 11, 1500, 0, 20), packet...)
	b := append(u32(5, 1, 0xc0000201, 16, seq, uptime, 2, 1, uint32(len(sample))), sample...)
	return append(b, u32(2, 12, 1, 2, 0)...)
}

func TestSFlow(t *testing.T) {
	b := newBench(t, nil)
	want := flowrecord.Record{
		Exporter: router.Addr(), Domain: 16, Start: epoch, End: epoch, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
		Protocol: 1, InIf: 3, OutIf: 4, Bytes: 1500, Packets: 1, SamplingRate: 512, Source: flowrecord.SFlow,
	}
	b.want("records", b.take(router, sflow5(1, hour)), []flowrecord.Record{want})
	b.now = epoch.Add(time.Minute)
	b.take(router, sflow5(5, hour+60_000)) // three are missing
	b.take(router, sflow5(4, hour+59_000)) // one of them came late
	b.want("records of the same datagram again", len(b.take(router, sflow5(4, hour+59_000))), 0)
	b.want("records after a restart", len(b.take(router, sflow5(1, 1000))), 1)
	q := b.only()
	b.want("lost", q.Lost, uint64(2))
	b.want("sampling rate", q.SamplingRate, uint64(512))
	b.want("events", q.Events, map[string]uint64{EventCounterSample: 4, EventLate: 1, EventRestart: 1})
	b.want("drops", q.Drops, map[string]uint64{string(ReasonReplayed): 1})
}

// TestABiflowIsOneRecordOfTheSequence: IPFIX counts data records (RFC 7011 section 3.1), of which a biflow is one and
// gives two flows.
func TestABiflowIsOneRecordOfTheSequence(t *testing.T) {
	b := newBench(t, nil)
	biflow := set(2, u16(256, 4, 8, 4, 12, 4, 1, 4, 0x8001, 4), u32(29305))
	record := set(256, u32(0x0a000001, 0x0a000002, 1000, 2000))
	got := b.take(router, ipfix10(header{seq: 0}, biflow, record), ipfix10(header{seq: 1}, record), ipfix10(header{seq: 2}, record))
	b.want("flows", len(got), 6)
	b.want("lost", b.only().Lost, uint64(0))
}

// Datagrams that waited, because the bus took nothing for ten minutes, have the times of their arrival: samples have no
// other, and an exporter's clock is compared with ours.
func TestDatagramsThatWaitedHaveTheTimesOfTheirArrival(t *testing.T) {
	b := newBench(t, nil)
	var waited []Datagram
	for i := range uint32(10) {
		at := epoch.Add(time.Duration(i) * time.Minute)
		waited = append(waited,
			Datagram{From: router, Payload: sflow5(i, hour+i*60_000), At: at},
			Datagram{From: address(1), Payload: v9(header{seq: i, at: at, uptime: hour + i*60_000}, tmpl(9), flows(1, hour+i*60_000)), At: at})
	}
	for i, r := range b.table.Take(waited, epoch.Add(10*time.Minute), nil) {
		if r.Source == flowrecord.SFlow {
			b.want("end of a sample", r.End, epoch.Add(time.Duration(i/2)*time.Minute))
		}
	}
	for _, q := range b.table.Quality(epoch.Add(10 * time.Minute)) {
		b.want("jumps of its clock", q.Events[EventClockJump], uint64(0))
	}
}
