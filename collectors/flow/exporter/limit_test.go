package exporter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// TestAnExporterIsHeldToItsRate: 50 datagrams per second, and as many at once after a pause; the others lose nothing.
func TestAnExporterIsHeldToItsRate(t *testing.T) {
	const rate = 50
	b := newBench(t, func(cfg *Configuration) { cfg.MaxDatagramsPerSecond = rate })
	b.take(router, v9(header{seq: 0}, tmpl(9)))
	b.take(address(1), v9(header{seq: 0}, tmpl(9)))
	seq := uint32(0)
	burst := func(after time.Duration) (taken int) {
		b.now = b.now.Add(after)
		for range 4 * rate {
			seq++
			taken += len(b.take(router, v9(header{seq: seq}, flows(1, hour))))
		}
		return taken
	}
	b.want("at once, beside the template", burst(0), rate-1)
	b.want("100 ms later", burst(100*time.Millisecond), rate/10)
	b.want("an hour later", burst(time.Hour-200*time.Millisecond), rate)
	b.want("after the clock was set back", burst(-time.Minute), 0)
	b.now = b.now.Add(time.Minute)
	b.want("flows of the exporter beside it", len(b.take(address(1), v9(header{seq: 1}, flows(1, hour)))), 1)
	var limited uint64
	for _, q := range b.table.Quality(b.now) {
		limited += q.Drops[string(ReasonRateLimited)]
	}
	b.want("datagrams counted as above the rate", limited, uint64(16*rate-(rate-1)-rate/10-rate))
	var refused uint64 // which the nightly run judges by
	for _, h := range b.table.Hours() {
		if h.Domain != 0 || h.Exporter != router.Addr() || h.Source != flowrecord.SourceUnspecified {
			continue
		}
		refused += h.Refused
	}
	b.want("the same in the exporter's hours", refused, limited)
}

// TestBucketsAreBounded: made-up addresses share one bucket once there are too many, and real exporters keep theirs.
func TestBucketsAreBounded(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.MaxDatagramsPerSecond, cfg.MaxSessions = 10, 8
	l := newLimiter(cfg, nil)
	l.admits(router.Addr(), epoch)
	admitted := 0
	for i := range 1000 {
		if l.admits(address(i).Addr(), epoch) {
			admitted++
		}
	}
	if len(l.buckets) > 8 || admitted != 7+10 {
		t.Errorf("%d buckets, %d datagrams admitted; want 8 and 17", len(l.buckets), admitted)
	}
	for i := range 9 {
		if !l.admits(router.Addr(), epoch) {
			t.Fatalf("datagram %d of the real exporter was refused", i)
		}
	}
	if later := epoch.Add(time.Minute); !l.admits(address(5000).Addr(), later) || len(l.buckets) != 1 {
		t.Errorf("%d buckets a minute later, want the newest alone", len(l.buckets))
	}
}

// TestListedExportersKeepTheirBuckets: where datagrams of any address are taken, made-up ones fill the buckets there
// are, and an exporter of the inventory that comes after them still has its own.
func TestListedExportersKeepTheirBuckets(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.MaxDatagramsPerSecond, cfg.MaxSessions, cfg.AcceptUnlisted = 10, 8, true
	b := &bench{t, NewTable(cfg, func(a netip.Addr) bool { return a == router.Addr() }, 1), epoch}
	seq := uint32(0)
	send := func(from netip.AddrPort, n int) (taken int) {
		for range n {
			seq++
			taken += len(b.take(from, v9(header{seq: seq}, tmpl(9), flows(1, hour))))
		}
		return taken
	}
	for i := range 100 {
		send(address(i), 1)
	}
	b.want("flows of the listed exporter", send(router, 10), 10)
	b.want("flows above its rate", send(router, 1), 0)
	b.want("flows of one more that is not listed", send(address(100), 1), 0)
	b.want("buckets of those that are not listed", len(b.table.parts[0].limiter.buckets), 8)
}
