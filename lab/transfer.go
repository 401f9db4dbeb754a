package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/millrace/millrace/scenario"
)

// transferReport is what the two ends of a bulk transfer print. The receiver
// fills bytes and the end, the sender the beginning, retransmissions and
// congestion control: a busy receiver may accept a connection when much of it
// has arrived already. Both ends read one clock.
type transferReport struct {
	Intervals   []Interval `json:"intervals,omitempty"`
	Bytes       uint64     `json:"bytes,omitempty"`
	Ended       time.Time  `json:"ended,omitzero"`
	Began       time.Time  `json:"began,omitzero"`
	Retransmits int        `json:"retransmits,omitempty"`
	OutOfOrder  int        `json:"out_of_order,omitempty"`
	// Seconds are the sender's retransmissions in each second.
	Seconds           []int  `json:"seconds,omitempty"`
	CongestionControl string `json:"congestion_control,omitempty"`
}

// transferRun is a bulk TCP transfer between two hosts: two programs, started
// ahead of the phase and signalled when it begins. iperf3 would do, but its
// receiver makes two system calls per packet, and system calls are what a
// User-Mode Linux guest is slow at: they cost more than the routers' forwarding
// and left none of the one processor over for it.
type transferRun struct {
	application  scenario.Application
	sink, source *program
	hangUp       context.CancelFunc
}

// startTransfer starts both ends and waits until they are ready.
func (l *Lab) startTransfer(ctx context.Context, a scenario.Application) (*transferRun, error) {
	to, _ := l.Scenario.Host(a.To)
	port, streams := strconv.Itoa(int(a.Port)), strconv.Itoa(a.Streams)
	seconds := strconv.FormatFloat((a.Stop - a.Start).Seconds(), 'f', 3, 64)
	ctx, cancel := context.WithCancel(ctx) // hanging up kills a receiver that no sender connects to
	t := &transferRun{application: a, hangUp: cancel}
	t.sink = l.start(ctx, a.To, "listening", "sink", port, streams)
	t.source = l.start(ctx, a.From, "ready", "source", to.Address.Addr().String()+":"+port, streams, seconds, a.CongestionControl, strconv.Itoa(a.DSCP))
	for _, p := range []*program{t.sink, t.source} {
		if err := p.await(ctx); err != nil {
			cancel()
			return nil, err
		}
	}
	return t, nil
}

// begin starts the sender when its time comes.
func (t *transferRun) begin(phase time.Time) { t.source.tell(phase.Add(t.application.Start)) }

// end waits for both ends and puts their reports together.
func (t *transferRun) end() (*TCPSeries, error) {
	defer t.hangUp()
	if err := <-t.source.ended; err != nil {
		return nil, fmt.Errorf("sender on %s: %w", t.application.From, err)
	}
	if err := <-t.sink.ended; err != nil {
		return nil, fmt.Errorf("receiver on %s: %w", t.application.To, err)
	}
	return readTransfer(t.sink.stdout.Bytes(), t.source.stdout.Bytes(), t.application.Streams)
}

func readTransfer(received, sent []byte, streams int) (*TCPSeries, error) {
	var r, s transferReport
	if err := errors.Join(json.Unmarshal(received, &r), json.Unmarshal(sent, &s)); err != nil {
		return nil, fmt.Errorf("read the transfer's reports: %w", err)
	}
	for i := range r.Intervals {
		if i < len(s.Seconds) {
			r.Intervals[i].Retransmits = s.Seconds[i]
		}
	}
	seconds := r.Ended.Sub(s.Began).Seconds()
	return &TCPSeries{
		Intervals: r.Intervals, Streams: streams, Bytes: r.Bytes, Seconds: seconds, Mbps: rate(r.Bytes, seconds),
		Retransmits: s.Retransmits, OutOfOrder: r.OutOfOrder, CongestionControl: s.CongestionControl, began: s.Began,
	}, nil
}

func rate(bytes uint64, seconds float64) float64 {
	return float64(bytes) * 8 / max(seconds, 1e-9) / 1e6
}
