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

// namesSampler is a template with a sampler's id beside the usual fields.
func namesSampler() []byte {
	return set(0, u16(256, 7, 8, 4, 12, 4, 1, 4, 22, 4, 21, 4, 10, 4, 48, 1))
}

func flowOfSampler(id byte) []byte {
	return set(256, u32(0x0a000001, 0x0a000002, 1500, hour-2000, hour-1000, 7), []byte{id})
}

// samplerTable is Cisco's `option sampler-table`: scope System, FLOW_SAMPLER_ID, _MODE, _RANDOM_INTERVAL.
func samplerTable(id byte, rate uint32) []byte {
	return append(set(1, u16(257, 4, 12, 1, 4, 48, 1, 49, 1, 50, 4)), set(257, u32(0), []byte{id, 2}, u32(rate))...)
}

// A record that names a sampler has the rate of that one, in whichever observation domain of its exporter it was
// announced (Cisco IOS XE announces with source id 6 what flows with source id 256 name), and of no other.
func TestTheRateOfANamedSampler(t *testing.T) {
	other := netip.AddrPortFrom(router.Addr(), router.Port()+1)
	stranger := address(1)
	type told struct {
		from   netip.AddrPort
		domain uint32
		id     byte
		rate   uint32
	}
	for _, c := range []struct {
		name      string
		announced []told
		later     time.Duration
		want      uint64
	}{
		{"its own domain", []told{{router, 256, 1, 1000}}, 0, 1000},
		{"another domain", []told{{router, 6, 1, 1000}}, 0, 1000},
		{"another domain, which announces two", []told{{router, 6, 1, 1000}, {router, 6, 2, 100}}, 0, 1000},
		{"another socket and domain", []told{{other, 6, 1, 1000}}, 0, 1000},
		{"another exporter", []told{{stranger, 256, 1, 1000}}, 0, 0},
		{"another sampler of its own domain", []told{{router, 256, 2, 1000}}, 0, 0},
		{"another sampler of another domain", []told{{router, 6, 2, 1000}}, 0, 0},
		{"another sampler of another socket", []told{{other, 256, 2, 1000}}, 0, 0},
		{"its own domain and another one, which differ", []told{{router, 6, 1, 100}, {router, 256, 1, 1000}}, 0, 1000},
		{"two other domains that agree", []told{{router, 6, 1, 1000}, {router, 7, 1, 1000}}, 0, 1000},
		{"two other domains that differ", []told{{router, 6, 1, 1000}, {router, 7, 1, 100}}, 0, 0},
		{"a domain that changes it", []told{{router, 6, 1, 100}, {router, 6, 1, 1000}}, 0, 1000},
		{"what was not announced again in time", []told{{router, 6, 1, 1000}}, 2 * time.Hour, 0},
	} {
		for _, restarts := range []bool{false, true} {
			b := newBench(t, nil)
			seen := map[netip.AddrPort]uint32{}
			next := func(from netip.AddrPort) uint32 { seen[from]++; return seen[from] }
			take := func(id byte) uint64 {
				h := header{seq: next(router), at: b.now, domain: 256}
				return b.take(router, v9(h, namesSampler(), flowOfSampler(id)))[0].SamplingRate
			}
			for _, a := range c.announced {
				b.take(a.from, v9(header{seq: next(a.from), domain: a.domain}, samplerTable(a.id, a.rate)))
				take(1) // so that what is remembered is not the first answer
			}
			if restarts {
				b = b.restarted(0, nil, nil)
			}
			b.now = epoch.Add(c.later)
			b.want(c.name, take(1), c.want)
		}
	}
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, samplerTable(1, 1000), namesSampler(), flowOfSampler(2)))
	b.want("records of unknown rate", b.only().UnknownRate, uint64(1))
}

// sampler announces 1:rate in v9 options, for an interface or, with 0, for all.
func sampler(iface, rate uint32) []byte {
	scope := uint16(1)
	if iface != 0 {
		scope = 2
	}
	return append(set(1, u16(400, 4, 4, scope, 4, 34, 4)), set(400, u32(iface, rate))...)
}

func TestSamplingRate(t *testing.T) {
	f := func(sets ...[]byte) []byte { return v9(header{seq: 1}, append(sets, tmpl(9), flows(1, hour))...) }
	for _, c := range []struct {
		name   string
		change func(*Configuration)
		d      []byte
		want   uint64
	}{
		{"never said is unknown", nil, f(), 0},
		{"never said, with a default", func(c *Configuration) { c.DefaultSamplingRate = 1 }, f(), 1},
		{"said in options", func(c *Configuration) { c.DefaultSamplingRate = 1 }, f(sampler(0, 100)), 100},
		{"said for the flow's interface", nil, f(sampler(7, 50)), 50},
		{"said for another interface, and only there", nil, f(sampler(8, 50)), 50},
		{"its interface goes before the rest", nil, f(sampler(0, 100), sampler(7, 50)), 50},
		{"a rate that no router samples at is not believed", func(c *Configuration) { c.DefaultSamplingRate = 1 }, f(sampler(0, 1<<32-1)), 0},
		{"two other interfaces that differ", nil, f(sampler(8, 50), sampler(9, 60)), 0},
		{"the operator knows better", func(c *Configuration) {
			c.SamplingRate = map[netip.Addr]uint64{router.Addr(): 10}
		}, f(sampler(0, 100)), 10},
		{"said in the header of v5", nil, v5(header{seq: 1}, 0x4064, 1), 100},
		{"not said in the header of v5", nil, v5(header{seq: 1}, 0, 1), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.change)
			got := b.take(router, c.d)
			if len(got) != 1 {
				t.Fatalf("%d records, want 1", len(got))
			}
			b.want("rate", got[0].SamplingRate, c.want)
		})
	}
}

func TestSamplingChangesAreCounted(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, sampler(0, 100)), v9(header{seq: 2}, sampler(0, 100)), v9(header{seq: 3}, sampler(0, 200)))
	b.want("events", b.only().Events, map[string]uint64{EventSamplingChange: 1})
	b.want("rate", b.only().SamplingRate, uint64(200))
}
