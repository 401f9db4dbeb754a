package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/e2e/scenario"
)

// iperf runs one iperf3 client against a server that serves it alone, and reads
// the client's JSON report.
func (l *Lab) iperf(ctx context.Context, a scenario.Application, target string) (*iperfReport, error) {
	port := strconv.Itoa(int(a.Port))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // hanging up kills a server that nobody came to
	ready := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- l.Exec(ctx, a.To, []string{"iperf3", "-s", "-1", "-p", port, "--forceflush"}, Stream{Stdout: &trigger{word: "listening", hit: ready}})
	}()
	select {
	case <-ready:
	case err := <-served:
		return nil, fmt.Errorf("iperf3 server on %s: %w", a.To, errors.Join(err, errors.New("it ended before its client came")))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var out bytes.Buffer
	err := l.Exec(ctx, a.From, iperfArguments(a, target, port), Stream{Stdout: &out})
	report, readErr := readIperf(out.Bytes())
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	return report, err
}

func iperfArguments(a scenario.Application, target, port string) []string {
	argv := []string{"iperf3", "-c", target, "-p", port, "-J", "-t", strconv.FormatFloat((a.Stop - a.Start).Seconds(), 'f', 0, 64)}
	if a.Kind == scenario.UDP {
		// A packet every 20 ms is a voice call; with several calls' rate, several leave together. iperf3's own
		// pacing wakes up every millisecond, which took half of a User-Mode Linux guest's processor.
		return append(argv, "-u", "-b", strconv.FormatUint(uint64(a.Rate), 10), "-l", strconv.FormatUint(uint64(a.Packet), 10), "--pacing-timer", "20000")
	}
	argv = append(argv, "-P", strconv.Itoa(a.Streams))
	if a.CongestionControl != "" {
		argv = append(argv, "-C", a.CongestionControl)
	}
	return argv
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

// iperfReport is the part of `iperf3 -J` that is used.
type iperfReport struct {
	Error string `json:"error"`
	Start struct {
		Test struct {
			Streams int `json:"num_streams"`
		} `json:"test_start"`
	} `json:"start"`
	Intervals []struct {
		Sum iperfSum `json:"sum"`
	} `json:"intervals"`
	End struct {
		Sent              iperfSum `json:"sum_sent"`
		Received          iperfSum `json:"sum_received"`
		Sum               iperfSum `json:"sum"`
		CongestionControl string   `json:"sender_tcp_congestion"`
	} `json:"end"`
}

type iperfSum struct {
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Seconds     float64 `json:"seconds"`
	Bytes       float64 `json:"bytes"`
	Rate        float64 `json:"bits_per_second"`
	Retransmits int     `json:"retransmits"`
	Jitter      float64 `json:"jitter_ms"`
	Packets     int     `json:"packets"`
	Lost        int     `json:"lost_packets"`
}

func readIperf(raw []byte) (*iperfReport, error) {
	var r iperfReport
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("read iperf3's report: %w", err)
	}
	if r.Error != "" {
		return nil, fmt.Errorf("iperf3: %s", r.Error)
	}
	return &r, nil
}

func (r *iperfReport) intervals() []Interval {
	list := make([]Interval, 0, len(r.Intervals))
	for _, i := range r.Intervals {
		list = append(list, Interval{Start: i.Sum.Start, End: i.Sum.End, Bytes: uint64(i.Sum.Bytes), Mbps: i.Sum.Rate / 1e6, Retransmits: i.Sum.Retransmits})
	}
	return list
}

// udp takes the receiver's view: iperf 3.12 puts it into `sum`, later versions
// into `sum_received` as well.
func (r *iperfReport) udp() *UDPSeries {
	e := r.End.Sum
	received := e.Bytes
	if e.Packets > 0 {
		received *= float64(e.Packets-e.Lost) / float64(e.Packets)
	}
	return &UDPSeries{
		Intervals: r.intervals(), Bytes: uint64(received), Mbps: received * 8 / max(e.Seconds, 1e-9) / 1e6,
		Sent: e.Packets, Lost: e.Lost, Jitter: e.Jitter,
	}
}
