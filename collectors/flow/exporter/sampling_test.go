package exporter

import (
	"net/netip"
	"testing"
	"time"
)

// TestRefusedRatesAreCounted: a rate above max_sampling_rate raises an event, wherever the exporter says it.
func TestRefusedRatesAreCounted(t *testing.T) {
	inRecords := set(0, u16(256, 6, 8, 4, 12, 4, 1, 4, 22, 4, 21, 4, 34, 4))
	record := func(rate uint32) []byte { return u32(0x0a000001, 0x0a000002, 1500, hour-2000, hour-1000, rate) }
	for _, c := range []struct {
		name     string
		datagram []byte
		refused  uint64
	}{
		{"in options", v9(header{seq: 1}, sampler(0, 101), tmpl(9), flows(1, hour)), 1},
		{"in the records", v9(header{seq: 1}, inRecords, set(256, record(100), record(101), record(200))), 2},
		{"in an sFlow sample", sflow5(1, hour), 1},
		{"in the header of v5", v5(header{seq: 1}, 0x4000|101, 2), 1},
		{"at the limit", v5(header{seq: 1}, 0x4000|100, 2), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(cfg *Configuration) { cfg.MaxSamplingRate = 100 })
			if len(b.take(router, c.datagram)) == 0 {
				t.Fatal("no record was taken")
			}
			b.want("refused rates", b.only().Events[EventSamplingRefused], c.refused)
		})
	}
}

// An announced rate lives as long as a template that is not sent again: a sampler that is gone says nothing for ever.
func TestAnnouncedRatesExpire(t *testing.T) {
	sampled := func(at time.Time, id, rate uint32) []byte {
		return ipfix10(header{at: at}, set(3, u16(257, 2, 1, 302, 4, 34, 4)), set(257, u32(id, rate)), tmpl(10), flows(1, hour))
	}
	unsampled := func(at time.Time) []byte { return ipfix10(header{at: at}, tmpl(10), flows(1, hour)) }
	other := netip.AddrPortFrom(router.Addr(), router.Port()+1)
	for _, c := range []struct {
		name  string
		later netip.AddrPort
		after time.Duration
		d     func(at time.Time) []byte
		want  uint64
	}{
		{"another sampler, soon", router, time.Hour, func(at time.Time) []byte { return sampled(at, 2, 100) }, 0},
		{"another sampler", router, 3 * time.Hour, func(at time.Time) []byte { return sampled(at, 2, 100) }, 100},
		{"no sampler, soon", router, time.Hour, unsampled, 1000},
		{"no sampler", router, 3 * time.Hour, unsampled, 0},
		{"another socket, soon", other, time.Hour, unsampled, 1000},
		{"another socket", other, 3 * time.Hour, unsampled, 0},
	} {
		for _, restarts := range []bool{false, true} {
			b := newBench(t, nil)
			b.want("rate at first", b.take(router, sampled(epoch, 1, 1000))[0].SamplingRate, uint64(1000))
			if restarts { // half way, while records come
				b.now = epoch.Add(c.after / 2)
				b.take(router, unsampled(b.now))
				b = b.restarted(0, nil, nil)
			}
			b.now = epoch.Add(c.after)
			b.want(c.name, b.take(c.later, c.d(b.now))[0].SamplingRate, c.want)
		}
	}
	b := newBench(t, nil)
	for _, after := range []time.Duration{0, time.Hour, 2 * time.Hour} {
		b.now = epoch.Add(after)
		b.take(router, sampled(b.now, 1, 1000))
	}
	b.want("events while it is announced", b.only().Events, map[string]uint64{})
	b.now = epoch.Add(4 * time.Hour)
	b.take(router, unsampled(b.now))
	b.want("events after it", b.only().Events, map[string]uint64{EventTemplateExpired: 2, EventSamplingExpired: 1})
}

// v5 says the rate in each header, also that there is none any more.
func TestTheHeaderOfV5SaysNoRateAnyMore(t *testing.T) {
	b := newBench(t, nil)
	b.want("rate", b.take(router, v5(header{seq: 1}, 0x4064, 1))[0].SamplingRate, uint64(100))
	b.want("rate after it", b.take(router, v5(header{seq: 2}, 0, 1))[0].SamplingRate, uint64(0))
	b.want("events", b.only().Events, map[string]uint64{EventSamplingChange: 1})
}
