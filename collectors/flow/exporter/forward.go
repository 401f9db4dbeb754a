package exporter

import (
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Forward takes a record of an exporter that another collector decoded, completes its sampling rate and counts it. The
// reason is empty, or why it is dropped. It may have started maxAge ago: unlike one that comes from its exporter, it
// waited elsewhere.
func (t *Table) Forward(r *flowrecord.Record, at time.Time, maxAge time.Duration) decode.Reason {
	p := t.partOf(r.Exporter)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.Hears(r.Exporter) {
		q := p.nobody()
		q.drop(ReasonUnlisted, 1)
		q.LastSeen = at
		p.stranger = stranger{r.Exporter, at}
		return ReasonUnlisted
	}
	q := p.quality(qualityKey{r.Exporter, r.Domain, r.Source})
	cfg := &t.cfg
	if reason := implausible(r, at.Add(-maxAge), at.Add(cfg.MaxAhead)); reason != "" {
		q.implausible(reason, at)
		return reason
	}
	if r.SamplingRate > cfg.MaxSamplingRate {
		q.event(EventSamplingRefused)
	}
	r.SamplingRate = cfg.rate(r.Exporter, r.SamplingRate)
	q.SamplingRate = r.SamplingRate
	q.forwarded(at, r)
	return ""
}

// forwarded counts a record that came in no datagram.
func (q *quality) forwarded(at time.Time, r *flowrecord.Record) {
	hour := q.hours.At(at)
	hour.Records++
	if r.SamplingRate == 0 {
		hour.UnknownRate++
		q.UnknownRate++
	}
	q.Records++
	q.window.add(at, 1)
	q.LastSeen = at
}
