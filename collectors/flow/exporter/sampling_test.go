package exporter

import "testing"

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
