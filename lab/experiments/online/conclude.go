package online

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// AlphaGroup is the applications' group that stands for the transfer.
const AlphaGroup = "alpha"

// settle is how long after the last router has the change set what waited in the old queue may still arrive.
const settle = 2 * time.Second

// moments of the story.
type moments struct {
	began, recordEnd, arrived, seen, clicked, planned, applied, verified, ended time.Time
}

// momentsOf reads them from the applications, the alarm and the change set.
func (r *run) momentsOf(p *lab.PhaseResult) (moments, error) {
	m := moments{seen: r.seen, clicked: r.clicked, arrived: r.alarm.GetBegan().AsTime(), recordEnd: decided(r.alarm)}
	for _, a := range p.Applications {
		if a.Group == AlphaGroup && a.TCP != nil {
			m.began, m.ended = a.Start, a.Start.Add(time.Duration(a.TCP.Seconds*float64(time.Second)))
		}
	}
	if m.began.IsZero() {
		return m, errors.New("the phase has no transfer of group " + AlphaGroup)
	}
	m.planned, m.verified = controlplane.ReachedAt(r.changed, pushv1.State_STATE_PLANNED), controlplane.ReachedAt(r.changed, pushv1.State_STATE_VERIFIED)
	m.applied = controlplane.AppliedAt(r.changed)
	if !m.applied.Add(settle).Before(m.ended) {
		return m, errors.New("the transfer was over before routers had the change set: nothing can be said of the time after it")
	}
	return m, nil
}

// decided is the end of the last record that the alarm's evidence rests on.
func decided(m *alphav1.AlphaNow) time.Time {
	var last time.Time
	for _, e := range m.GetPair().GetEvidence() {
		if end := e.GetLastRecordEnd().AsTime(); end.After(last) {
			last = end
		}
	}
	return last
}

// conclude fills the metrics and the timeline.
func (r *run) conclude(p *lab.PhaseResult) error {
	m, err := r.momentsOf(p)
	if err != nil {
		return err
	}
	suffers := delay(p, m.began.Add(settle), m.clicked)
	after := delay(p, m.applied.Add(settle), m.ended)
	if suffers.answered > 0 { // or nothing can be claimed of delays
		r.Metric("ping/suffers_mean_ms", suffers.mean)
	}
	if after.answered > 0 {
		r.Metric("ping/after_p50_ms", after.median)
		r.Metric("ping/after_mean_ms", after.mean)
	}
	r.Metric("ping/after_lost", float64(after.lost))
	r.Metric("alarm/after_record_s", m.seen.Sub(m.recordEnd).Seconds())
	r.Metric("alarm/after_arrival_s", m.seen.Sub(m.arrived).Seconds())
	r.Metric("redirect/applied_s", m.applied.Sub(m.clicked).Seconds())
	ports := r.alarm.GetPorts()
	r.Metric("alarm/has_fullest_port", boolean(len(ports) > 0 && fullest(ports) == "ge-er"))
	for _, s := range []struct {
		name string
		at   time.Time
	}{
		{"the transfer begins", m.began}, {"the record that decides ends", m.recordEnd}, {"it arrives", m.arrived}, {"the operator sees the alarm", m.seen},
		{"one click", m.clicked}, {"the change set is planned", m.planned}, {"the last router has it", m.applied}, {"it is verified", m.verified},
		{"the transfer ends", m.ended},
	} {
		r.timeline = append(r.timeline, Step{s.name, s.at.Sub(m.began).Seconds()})
	}
	slices.SortStableFunc(r.timeline, func(a, b Step) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return nil
}

// fullest is the port that sends most.
func fullest(ports []*alphav1.PortNow) string {
	return slices.MaxFunc(ports, func(a, b *alphav1.PortNow) int { return cmp.Compare(a.GetBitsPerSecond(), b.GetBitsPerSecond()) }).GetPort()
}

// echoes are those of a while, in milliseconds.
type echoes struct {
	mean, median float64
	answered     int
	// lost are those between the last answer before the while and the first one after it that were not answered: where
	// no answer comes any more, all that were sent.
	lost int
}

// delay summarises the echoes that were answered between two times.
func delay(p *lab.PhaseResult, from, to time.Time) echoes {
	var rtts []float64
	var out echoes
	for _, a := range p.Applications {
		if a.Ping == nil {
			continue
		}
		before, behind := 0, a.Ping.Sent+1
		for _, e := range a.Ping.Echoes {
			switch {
			case e.At.Before(from):
				before = max(before, e.Seq)
			case !e.At.Before(to):
				behind = min(behind, e.Seq)
			default:
				rtts = append(rtts, e.RTT)
				out.mean += e.RTT
			}
		}
		out.lost = behind - before - 1 - len(rtts)
	}
	if out.answered = len(rtts); out.answered == 0 {
		return out
	}
	slices.Sort(rtts)
	out.mean, out.median = out.mean/float64(len(rtts)), rtts[len(rtts)/2]
	return out
}
