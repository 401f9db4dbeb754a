package exporter

import (
	"errors"
	"maps"
	"net/netip"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Quality is an exporter's health by observation domain and format: what of its
// export is missing, dropped or unknown.
type Quality struct {
	Exporter netip.Addr
	Domain   uint32
	Source   flowrecord.Source
	// Datagrams and Records were taken.
	Datagrams, Records uint64
	// UnknownRate is how many of Records came without a sampling rate.
	UnknownRate uint64
	// RecordsPerSecond is over the last minute.
	RecordsPerSecond float64
	// Lost is what is missing by sequence number: packets in v9, else records.
	Lost uint64
	// LossRatio is Lost / (Lost + received), in the same units, in this hour and the one before.
	LossRatio float64
	Templates int
	// SamplingRate is what holds for records that name nothing, else that of the last record; 0 while it is not known.
	SamplingRate uint64
	// Drops counts datagrams, sets or records that were dropped, Events what was counted and kept.
	Drops    map[string]uint64
	Events   map[string]uint64
	LastSeen time.Time
}

type qualityKey struct {
	exporter netip.Addr
	domain   uint32
	source   flowrecord.Source
}

// quality is a Quality while it is counted.
type quality struct {
	Quality
	templates map[uint16]int    // per source port
	rates     announced[uint16] // the same: what holds for records that name no sampler
	window    window
	hours     Hours
}

func newQuality(k qualityKey) *quality {
	return &quality{
		Quality: Quality{
			Exporter: k.exporter, Domain: k.domain, Source: k.source,
			Drops: map[string]uint64{}, Events: map[string]uint64{},
		},
		templates: map[uint16]int{},
	}
}

func (q *quality) drop(reason decode.Reason, n int) {
	if n > 0 {
		q.Drops[string(reason)] += uint64(n)
	}
}

func (q *quality) event(name string) { q.events(name, 1) }

func (q *quality) events(name string, n int) {
	if n > 0 {
		q.Events[name] += uint64(n)
	}
}

// notLost are reasons for which a datagram is refused that took no flows with it: it holds none, or none that this
// collector reads.
var notLost = map[decode.Reason]bool{decode.ReasonShort: true, decode.ReasonVersion: true, decode.ReasonEmpty: true}

// announced notes the rate that a socket's session now knows for records that name no sampler, if it knows one.
func (q *quality) announced(port uint16, s *sampling) {
	rate := s.rate(&decode.Flow{})
	if rate == 0 {
		delete(q.rates.rates, port)
		return
	}
	q.rates.set(port, rate, s.last)
}

// forget drops what belongs to a socket that is tracked no more.
func (q *quality) forget(port uint16) {
	delete(q.templates, port)
	delete(q.rates.rates, port)
}

// refuse counts a datagram that did not decode.
func (q *quality) refuse(err error, at time.Time) {
	reason := decode.ReasonMalformed
	var r *decode.Refusal
	if errors.As(err, &r) {
		reason = r.Reason
	}
	q.drop(reason, 1)
	q.LastSeen = at
	if !notLost[reason] {
		q.hours.At(at).Refused++
	}
}

// rateLimited counts a datagram that is not looked at.
func (q *quality) rateLimited(at time.Time) {
	q.drop(ReasonRateLimited, 1)
	q.LastSeen = at
	q.hours.At(at).Refused++
}

func (q *quality) addLost(n int64, at time.Time) {
	if n == 0 {
		return
	}
	hour := q.hours.At(at)
	if n < 0 {
		q.Lost -= min(q.Lost, uint64(-n))
		hour.Lost -= min(hour.Lost, uint64(-n))
		return
	}
	q.Lost += uint64(n)
	hour.Lost += uint64(n)
}

func (q *quality) noTemplate(n int, at time.Time) {
	q.drop(ReasonNoTemplate, n)
	if n > 0 {
		q.hours.At(at).NoTemplate += uint64(n)
	}
}

func (q *quality) implausible(reason decode.Reason, at time.Time) {
	q.drop(reason, 1)
	q.hours.At(at).OutOfRange++
}

// received counts a datagram and the records that were kept of it.
func (q *quality) received(at time.Time, records []flowrecord.Record, units uint32) {
	hour := q.hours.At(at)
	hour.Datagrams++
	hour.Records += uint64(len(records))
	hour.Received += uint64(units)
	for i := range records {
		if records[i].SamplingRate == 0 {
			hour.UnknownRate++
			q.UnknownRate++
		}
	}
	q.Datagrams++
	q.Records += uint64(len(records))
	q.window.add(at, len(records))
	q.LastSeen = at
}

// changed lists the hours that were counted in since it was last requested.
func (q *quality) changed(revision uint64) []Hour {
	out := q.hours.Changed()
	for i := range out {
		h := &out[i]
		h.Exporter, h.Domain, h.Source, h.Revision = q.Exporter, q.Domain, q.Source, revision
	}
	return out
}

// snapshot is independent of what is counted later.
func (q *quality) snapshot(now time.Time) Quality { return q.tally(now).quality() }

// tally is a Quality whose ratios are still the sums that they come of. Each part of a table has one of nobody.
type tally struct {
	Quality
	recent         uint64 // records of the last minute
	lost, received uint64 // of this hour and the one before
}

func (q *quality) tally(now time.Time) tally {
	out := tally{Quality: q.Quality, recent: q.window.sum(now)}
	out.Drops, out.Events = maps.Clone(q.Drops), maps.Clone(q.Events)
	out.lost, out.received = q.hours.loss(now)
	for _, n := range q.templates {
		out.Templates = max(out.Templates, n)
	}
	return out
}

// add counts what another part has. Templates and a rate, which are no sums, are the larger.
func (t *tally) add(other tally) {
	t.Datagrams += other.Datagrams
	t.Records += other.Records
	t.UnknownRate += other.UnknownRate
	t.Lost += other.Lost
	t.recent, t.lost, t.received = t.recent+other.recent, t.lost+other.lost, t.received+other.received
	t.Templates, t.SamplingRate = max(t.Templates, other.Templates), max(t.SamplingRate, other.SamplingRate)
	for reason, n := range other.Drops {
		t.Drops[reason] += n
	}
	for event, n := range other.Events {
		t.Events[event] += n
	}
	if other.LastSeen.After(t.LastSeen) {
		t.LastSeen = other.LastSeen
	}
}

func (t tally) quality() Quality {
	t.RecordsPerSecond = float64(t.recent) / 60
	if all := t.lost + t.received; all > 0 {
		t.LossRatio = float64(t.lost) / float64(all)
	}
	return t.Quality
}

// window counts records per second of the last minute.
type window struct {
	counts  [60]uint32
	seconds [60]int64
}

func (w *window) add(at time.Time, n int) {
	second := at.Unix()
	i := int(second % 60)
	if i < 0 {
		return
	}
	if w.seconds[i] != second {
		w.seconds[i], w.counts[i] = second, 0
	}
	w.counts[i] += uint32(n)
}

func (w *window) sum(now time.Time) (sum uint64) {
	for i, second := range w.seconds {
		if age := now.Unix() - second; age >= 0 && age < 60 {
			sum += uint64(w.counts[i])
		}
	}
	return sum
}
