package exporter

import (
	"testing"
	"time"
)

// TestTemplatesExpireUnlessTheyAreSentAgain: "Templates (and similar definitions) not refreshed by the Exporting
// Process within the lifetime are expired at the Collecting Process" (RFC 7011 section 8.4; RFC 3954 section 9 for v9).
func TestTemplatesExpireUnlessTheyAreSentAgain(t *testing.T) {
	const lifetime = time.Hour
	for _, c := range []struct {
		name    string
		refresh []time.Duration // when the template is sent, after the first datagram
		data    []time.Duration // when one record is sent
		records int
		expired uint64 // templates
		dropped uint64 // sets without template
	}{
		{"within the lifetime", []time.Duration{0}, []time.Duration{lifetime}, 1, 0, 0},
		{"after it", []time.Duration{0}, []time.Duration{lifetime + time.Second}, 0, 1, 1},
		{"data is no refresh", []time.Duration{0}, []time.Duration{lifetime / 2, lifetime, lifetime + time.Second}, 2, 1, 1},
		{"a template sent again lives on", []time.Duration{0, lifetime / 2}, []time.Duration{lifetime + time.Second, lifetime * 3 / 2}, 2, 0, 0},
		{"and expires in its turn", []time.Duration{0, lifetime / 2}, []time.Duration{lifetime*3/2 + time.Second}, 0, 1, 1},
		{"a template sent again after it expired", []time.Duration{0, 2 * lifetime}, []time.Duration{2*lifetime + time.Second}, 1, 1, 0},
	} {
		for _, version := range []uint16{9, 10} {
			t.Run(c.name+map[uint16]string{9: ", NetFlow v9", 10: ", IPFIX"}[version], func(t *testing.T) {
				b := newBench(t, func(cfg *Configuration) { cfg.TemplateLifetime = lifetime })
				records, sent := 0, uint32(0)
				send := func(after time.Duration, set func(uptime uint32) []byte) {
					b.now = epoch.Add(after)
					h := header{seq: sent, at: b.now, uptime: hour + uint32(after.Milliseconds())}
					datagram := v9(h, set(h.uptime))
					if version == 10 {
						datagram = ipfix10(h, set(h.uptime))
					}
					records += len(b.take(router, datagram))
					sent++
				}
				refresh, data := c.refresh, c.data
				for len(refresh)+len(data) > 0 {
					if len(data) == 0 || len(refresh) > 0 && refresh[0] < data[0] {
						send(refresh[0], func(uint32) []byte { return tmpl(version) })
						refresh = refresh[1:]
						continue
					}
					send(data[0], func(uptime uint32) []byte { return flows(1, uptime) })
					data = data[1:]
				}
				q := b.only()
				b.want("records", records, c.records)
				b.want("expired templates", q.Events[EventTemplateExpired], c.expired)
				b.want("sets without template", q.Drops[string(ReasonNoTemplate)], c.dropped)
			})
		}
	}
}
