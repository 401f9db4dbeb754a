package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/e2e/scenario"
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

// transfer runs a bulk TCP transfer between two hosts. iperf3 would do, but its
// receiver makes two system calls per packet, and system calls are what a
// User-Mode Linux guest is slow at: they cost more than the routers' forwarding
// and left none of the one processor over for it.
func (l *Lab) transfer(ctx context.Context, a scenario.Application, target string, begin time.Time) (*TCPSeries, error) {
	port, streams := strconv.Itoa(int(a.Port)), strconv.Itoa(a.Streams)
	binary := filepath.Join(l.Output, "bin", "millrace")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // hanging up kills a receiver that nobody came to
	var received, sent bytes.Buffer
	ready := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- l.Exec(ctx, a.To, []string{binary, "lab", "guest", "sink", port, streams},
			Stream{Stdout: &received, Stderr: &trigger{word: "listening", hit: ready}})
	}()
	select {
	case <-ready:
	case err := <-served:
		return nil, fmt.Errorf("receiver on %s: %w", a.To, errors.Join(err, errors.New("it ended before its sender came")))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	seconds := strconv.FormatFloat((a.Stop - a.Start).Seconds(), 'f', 3, 64)
	argv := []string{binary, "lab", "guest", "source", target + ":" + port, streams, seconds, a.CongestionControl,
		strconv.Itoa(a.DSCP), strconv.FormatInt(begin.UnixNano(), 10)}
	if err := l.Exec(ctx, a.From, argv, Stream{Stdout: &sent}); err != nil {
		return nil, fmt.Errorf("sender on %s: %w", a.From, err)
	}
	if err := <-served; err != nil {
		return nil, fmt.Errorf("receiver on %s: %w", a.To, err)
	}
	return readTransfer(received.Bytes(), sent.Bytes(), a.Streams)
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

// trigger closes hit when a word is first written.
type trigger struct {
	word string
	hit  chan struct{}
	said strings.Builder
	done bool
}

func (t *trigger) Write(p []byte) (int, error) {
	if !t.done {
		t.said.Write(p)
		if t.done = strings.Contains(t.said.String(), t.word); t.done {
			close(t.hit)
		}
	}
	return len(p), nil
}
