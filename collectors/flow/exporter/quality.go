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
	// RecordsPerSecond is over the last minute.
	RecordsPerSecond float64
	// Lost is what is missing by sequence number: packets in v9, else records.
	Lost uint64
	// LossRatio is Lost / (Lost + received), in the same units.
	LossRatio float64
	Templates int
	// SamplingRate is 0 while it is not known.
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
	templates map[uint16]int // per source port
	units     uint64         // received, in the units of Lost
	window    window
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

// refuse counts a datagram that did not decode.
func (q *quality) refuse(err error) {
	reason := decode.ReasonMalformed
	var r *decode.Refusal
	if errors.As(err, &r) {
		reason = r.Reason
	}
	q.drop(reason, 1)
}

func (q *quality) addLost(n int64) {
	if n < 0 {
		q.Lost -= min(q.Lost, uint64(-n))
		return
	}
	q.Lost += uint64(n)
}

func (q *quality) received(at time.Time, records int, h decode.Header, m *decode.Message, rate uint64) {
	q.Datagrams++
	q.Records += uint64(records)
	q.units += uint64(unitsOf(h, m)[allBefore])
	q.window.add(at, records)
	q.SamplingRate = rate
	q.LastSeen = at
}

// snapshot is independent of what is counted later.
func (q *quality) snapshot(now time.Time) Quality {
	out := q.Quality
	out.Drops, out.Events = maps.Clone(q.Drops), maps.Clone(q.Events)
	out.RecordsPerSecond = q.window.perSecond(now)
	if all := q.Lost + q.units; all > 0 {
		out.LossRatio = float64(q.Lost) / float64(all)
	}
	for _, n := range q.templates {
		out.Templates = max(out.Templates, n)
	}
	return out
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

func (w *window) perSecond(now time.Time) float64 {
	sum := uint64(0)
	for i, second := range w.seconds {
		if age := now.Unix() - second; age >= 0 && age < 60 {
			sum += uint64(w.counts[i])
		}
	}
	return float64(sum) / 60
}
