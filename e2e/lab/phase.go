package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/millrace/millrace/e2e/scenario"
)

// PhaseResult is what the applications of one phase measured.
type PhaseResult struct {
	Phase string    `json:"phase"`
	Start time.Time `json:"start"`
	Stop  time.Time `json:"stop"`
	// Applications in the order of the scenario.
	Applications []ApplicationResult `json:"applications"`
}

// ApplicationResult has one of Ping, TCP and UDP, after the application's kind.
type ApplicationResult struct {
	Name  string        `json:"name"`
	Group string        `json:"group,omitempty"`
	Kind  scenario.Kind `json:"kind"`
	From  string        `json:"from"`
	To    string        `json:"to"`
	// Start is when the application really started. Offsets below count from it.
	Start time.Time   `json:"start"`
	Ping  *PingSeries `json:"ping,omitempty"`
	TCP   *TCPSeries  `json:"tcp,omitempty"`
	UDP   *UDPSeries  `json:"udp,omitempty"`
}

// Echo is one answered echo request.
type Echo struct {
	// At is when the answer came.
	At  time.Time `json:"at"`
	Seq int       `json:"seq"`
	// RTT in milliseconds.
	RTT float64 `json:"rtt_ms"`
}

// PingSeries is one ping run.
type PingSeries struct {
	Echoes   []Echo `json:"echoes"`
	Sent     int    `json:"sent"`
	Received int    `json:"received"`
}

// Interval is one second of a transfer, or what is left of it.
type Interval struct {
	Start       float64 `json:"start_s"` // since the application's start
	End         float64 `json:"end_s"`
	Bytes       uint64  `json:"bytes"`
	Mbps        float64 `json:"mbps"`
	Retransmits int     `json:"retransmits,omitempty"`
}

// TCPSeries is one bulk transfer, as its receiver saw it, summed over its
// streams.
type TCPSeries struct {
	Intervals   []Interval `json:"intervals"`
	Streams     int        `json:"streams"`
	Bytes       uint64     `json:"bytes"`
	Seconds     float64    `json:"seconds"`
	Mbps        float64    `json:"mbps"`
	Retransmits int        `json:"retransmits"`
	// CongestionControl is what the kernel really used.
	CongestionControl string `json:"congestion_control"`

	began time.Time
}

// UDPSeries is one constant-rate stream, as its receiver saw it.
type UDPSeries struct {
	Intervals []Interval `json:"intervals"`
	Bytes     uint64     `json:"bytes"`
	Mbps      float64    `json:"mbps"`
	Sent      int        `json:"sent"`
	Lost      int        `json:"lost"`
	Jitter    float64    `json:"jitter_ms"`
}

// Observer is told of a phase while it runs; both fields may be nil.
type Observer struct {
	// Progress gets plain words: an application starts or ends.
	Progress func(string)
	// Echo gets every ping answer as it comes, of the named application. It is
	// called from several goroutines.
	Echo func(application string, e Echo)
}

// RunPhase runs one phase's applications at their offsets and returns when the
// last has ended. One that fails ends the phase.
func (l *Lab) RunPhase(ctx context.Context, name string, watch Observer) (*PhaseResult, error) {
	p, ok := l.Scenario.Phase(name)
	if !ok {
		return nil, fmt.Errorf("scenario %s has no phase %s", l.Scenario.Name, name)
	}
	if watch.Progress == nil {
		watch.Progress = func(string) {}
	}
	if err := l.checkPorts(ctx, p); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := &PhaseResult{Phase: name, Start: time.Now(), Applications: make([]ApplicationResult, len(p.Applications))}
	failures := make([]error, len(p.Applications))
	var wait sync.WaitGroup
	for i, a := range p.Applications {
		wait.Go(func() {
			result.Applications[i], failures[i] = l.runApplication(ctx, a, watch)
			if failures[i] != nil {
				failures[i] = fmt.Errorf("application %s of phase %s: %w", a.Name, name, failures[i])
				cancel()
			}
		})
	}
	wait.Wait()
	result.Stop = time.Now()
	if err := firstCause(failures); err != nil {
		return nil, err
	}
	return result, nil
}

// firstCause leaves out those that were only cancelled because another failed.
func firstCause(failures []error) error {
	var cancelled error
	for _, err := range failures {
		if errors.Is(err, context.Canceled) {
			cancelled = err
		} else if err != nil {
			return err
		}
	}
	return cancelled
}

// checkPorts fails early where an earlier, interrupted run left a listener.
func (l *Lab) checkPorts(ctx context.Context, p scenario.Phase) error {
	for _, a := range p.Applications {
		if a.Kind == scenario.Ping {
			continue
		}
		out, err := l.Capture(ctx, a.To, "ss", "-Hltn", "sport", "=", ":"+strconv.Itoa(int(a.Port)))
		if err != nil {
			return err
		}
		if out != "" {
			return fmt.Errorf("port %d on %s is taken; is another phase running? (%s)", a.Port, a.To, bytes.TrimSpace([]byte(out)))
		}
	}
	return nil
}

func (l *Lab) runApplication(ctx context.Context, a scenario.Application, watch Observer) (ApplicationResult, error) {
	r := ApplicationResult{Name: a.Name, Group: a.Group, Kind: a.Kind, From: a.From, To: a.To}
	select {
	case <-ctx.Done():
		return r, ctx.Err()
	case <-time.After(a.Start):
	}
	to, _ := l.Scenario.Host(a.To)
	target := to.Address.Addr().String()
	seconds := (a.Stop - a.Start).Seconds()
	watch.Progress(fmt.Sprintf("%s: %s from %s to %s for %g s", a.Name, a.Kind, a.From, a.To, seconds))
	r.Start = time.Now()
	var err error
	switch a.Kind {
	case scenario.Ping:
		r.Ping, err = l.ping(ctx, a, target, watch.Echo)
	case scenario.TCP:
		if r.TCP, err = l.transfer(ctx, a, target); err == nil {
			// Programs take a moment to start, and not the same for each: what runs at
			// a time is told by the senders' clock, which is this machine's.
			r.Start = r.TCP.began
		}
	case scenario.UDP:
		var report *iperfReport
		if report, err = l.iperf(ctx, a, target); err == nil {
			r.UDP = report.udp()
		}
	}
	return r, err
}
