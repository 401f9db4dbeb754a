package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/millrace/millrace/scenario"
)

// startStreams starts a program on every host with a stream.
func (r *phaseRun) startStreams(ctx context.Context) error {
	jobs := r.lab.streamJobs(r.phase)
	for _, name := range r.lab.Scenario.Nodes() {
		job, ok := jobs[name]
		if !ok {
			continue
		}
		raw, err := json.Marshal(job)
		if err != nil {
			return fmt.Errorf("encode the streams of %s: %w", name, err)
		}
		p := r.lab.start(ctx, name, "ready", "streams")
		r.streams = append(r.streams, p)
		if _, err := p.stdin.Write(raw); err != nil {
			return p.await(ctx)
		}
	}
	return nil
}

// streamJobs sorts a phase's streams by host.
func (l *Lab) streamJobs(p scenario.Phase) map[string]*streamJob {
	jobs := map[string]*streamJob{}
	of := func(host string) *streamJob {
		if jobs[host] == nil {
			jobs[host] = &streamJob{}
		}
		return jobs[host]
	}
	for _, a := range p.Applications {
		if a.Kind != scenario.UDP {
			continue
		}
		from, _ := l.Scenario.Host(a.From)
		to, _ := l.Scenario.Host(a.To)
		source := streamSource{
			Name: a.Name, Target: to.Address.Addr().String() + ":" + strconv.Itoa(int(a.Port)),
			Packets: a.PacketsPerSecond(), Size: int(a.Packet), DSCP: a.DSCP, Tick: a.Interval, Start: a.Start, Stop: a.Stop,
		}
		if from.Paced {
			source.Class = pacedFirst + uint32(len(of(a.From).Sources))
			source.Ahead, source.Tick = pacedAhead, max(a.Interval, pacedAhead/40)
		}
		of(a.From).Sources = append(of(a.From).Sources, source)
		of(a.To).Sinks = append(of(a.To).Sinks, streamSink{Name: a.Name, Port: int(a.Port), Stop: a.Stop})
	}
	return jobs
}

// awaitStreams collects both ends of every stream.
func (r *phaseRun) awaitStreams() error {
	sent, received := map[string]*sentStream{}, map[string]*receivedStream{}
	for _, p := range r.streams {
		if err := <-p.ended; err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
		var report streamReport
		if err := json.Unmarshal(p.stdout.Bytes(), &report); err != nil {
			return fmt.Errorf("read the report of %s: %w", p.what, err)
		}
		for name, s := range report.Sent {
			sent[name] = s
		}
		for name, s := range report.Received {
			received[name] = s
		}
	}
	for i, a := range r.phase.Applications {
		if a.Kind != scenario.UDP {
			continue
		}
		result := newResult(a)
		result.UDP = joinStream(a, sent[a.Name], received[a.Name])
		result.Start = result.UDP.began
		r.result.Applications[i] = result
	}
	return nil
}

// joinStream puts both ends' views together.
func joinStream(a scenario.Application, s *sentStream, r *receivedStream) *UDPSeries {
	u := &UDPSeries{
		Sent: s.Sent, Received: r.Received, Lost: s.Sent - r.Received, Duplicates: r.Duplicates, Reordered: r.Reordered, SocketDropped: r.Dropped,
		Bytes: r.Bytes, FrameOctets: uint64(r.Received) * uint64(int(a.Packet)+scenario.FrameOverhead),
		Delay: r.Delay, IPDV: r.IPDV, DSCP: r.DSCP, Tenths: frameTenths(a, r.Tenths), began: s.Began, sentDSCP: a.DSCP,
	}
	length := (a.Stop - a.Start).Seconds()
	// A queue that was full at the end is still emptied after it: that time counts too.
	u.seconds = max(length, r.Ended.Sub(r.Began).Seconds())
	u.Mbps = rate(r.Bytes, u.seconds)
	seconds := withLate(r.Seconds, len(s.Seconds))
	for i := range max(len(s.Seconds), len(seconds)) {
		interval := Interval{Start: float64(i), End: min(float64(i+1), max(length, float64(i)))}
		if i < len(s.Seconds) {
			interval.Sent = s.Seconds[i]
		}
		if i < len(seconds) {
			got := seconds[i]
			interval.Bytes, interval.Received = got.Bytes, got.Received
			interval.DelaySum, interval.DelayMin, interval.DelayMax = got.Sum, got.Min, got.Max
			interval.Mbps = rate(got.Bytes, interval.End-interval.Start)
		}
		u.Intervals = append(u.Intervals, interval)
	}
	return u
}

// withLate counts packets that were sent after a stream's last second in that one, as the sender does.
func withLate(seconds []streamSecond, last int) []streamSecond {
	if last == 0 || len(seconds) <= last {
		return seconds
	}
	out := slices.Clone(seconds[:last])
	for _, late := range seconds[last:] {
		out[last-1].join(late)
	}
	return out
}

// arrivedAs is the one DSCP all packets arrived with; false where there were several.
func (u *UDPSeries) arrivedAs() (dscp int, one bool) {
	for v := range u.DSCP {
		dscp = v
	}
	return dscp, len(u.DSCP) == 1
}

// changedDSCP counts packets that arrived with another DSCP than they were sent with.
func (u *UDPSeries) changedDSCP() int {
	n := 0
	for v, packets := range u.DSCP {
		if v != u.sentDSCP {
			n += packets
		}
	}
	return n
}

// intervals are the seconds of whatever carries bytes.
func (a ApplicationResult) intervals() []Interval {
	switch {
	case a.TCP != nil:
		return a.TCP.Intervals
	case a.UDP != nil:
		return a.UDP.Intervals
	}
	return nil
}
