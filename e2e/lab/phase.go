package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// Interval is one second of a transfer or stream, or what is left of it.
type Interval struct {
	Start       float64 `json:"start_s"` // since the application's start
	End         float64 `json:"end_s"`
	Bytes       uint64  `json:"bytes"`
	Mbps        float64 `json:"mbps"`
	Retransmits int     `json:"retransmits,omitempty"`
	// Of streams: packets sent in this second, and what became of them.
	Sent     int     `json:"sent,omitempty"`
	Received int     `json:"received,omitempty"`
	DelaySum float64 `json:"delay_sum_ms,omitempty"`
	DelayMin float64 `json:"delay_min_ms,omitempty"`
	DelayMax float64 `json:"delay_max_ms,omitempty"`
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
	// OutOfOrder counts segments that arrived out of sequence (the receiver's tcpi_rcv_ooopack).
	OutOfOrder int `json:"out_of_order"`
	// CongestionControl is what the kernel really used.
	CongestionControl string `json:"congestion_control"`

	began time.Time
}

// UDPSeries is one stream of datagrams, as its receiver saw it.
type UDPSeries struct {
	// Intervals are by the second of sending.
	Intervals []Interval `json:"intervals"`
	Bytes     uint64     `json:"bytes"`
	Mbps      float64    `json:"mbps"`
	Sent      int        `json:"sent"`
	Received  int        `json:"received"`
	Lost      int        `json:"lost"`
	// Duplicates and Reordered packets (RFC 4737, section 3.3) count as received.
	Duplicates int `json:"duplicates"`
	Reordered  int `json:"reordered"`
	// FrameOctets is what schedulers count of the packets received: Ethernet frames.
	FrameOctets uint64 `json:"frame_octets"`
	// Delay is one-way, on the guest's one clock; IPDV between consecutive arrivals (RFC 3393).
	Delay Distribution `json:"delay_ms"`
	IPDV  Distribution `json:"ipdv_ms"`
	// DSCP counts packets by the code point they arrived with.
	DSCP map[int]int `json:"dscp"`

	began    time.Time
	seconds  float64
	sentDSCP int
}

// Observer is told of a phase while it runs; any field may be nil.
type Observer struct {
	// Progress gets plain words: an application starts or ends.
	Progress func(string)
	// Started is told when the phase starts, a moment before it does.
	Started func(time.Time)
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
	r := &phaseRun{lab: l, phase: p, watch: watch, failures: make([]error, len(p.Applications)+1)}
	r.result = &PhaseResult{Phase: name, Applications: make([]ApplicationResult, len(p.Applications))}
	if err := r.startStreams(ctx); err != nil {
		return nil, err
	}
	r.begin()
	var wait sync.WaitGroup
	for i, a := range p.Applications {
		if a.Kind != scenario.UDP {
			wait.Go(func() { r.fail(i, a.Name, r.run(ctx, i, a), cancel) })
		}
	}
	wait.Go(func() { r.fail(len(p.Applications), "streams", r.awaitStreams(), cancel) })
	wait.Wait()
	r.result.Stop = time.Now()
	if err := firstCause(r.failures); err != nil {
		return nil, err
	}
	return r.result, nil
}

// phaseRun is one phase while it runs.
type phaseRun struct {
	lab      *Lab
	phase    scenario.Phase
	watch    Observer
	result   *PhaseResult
	failures []error
	hosts    []*streamHost
}

func (r *phaseRun) fail(i int, name string, err error, cancel func()) {
	if err != nil {
		r.failures[i] = fmt.Errorf("application %s of phase %s: %w", name, r.phase.Name, err)
		cancel()
	}
}

// perProgram is how long a program may take to start in a busy guest. Whatever
// has two ends is started ahead of the phase and then told when it begins.
const perProgram = 150 * time.Millisecond

// begin sets the phase's start, far enough ahead for its programs.
func (r *phaseRun) begin() {
	ahead := 2
	for _, a := range r.phase.Applications {
		if a.Kind == scenario.TCP {
			ahead += 2
		}
	}
	r.result.Start = time.Now().Add(time.Duration(ahead) * perProgram)
	for _, h := range r.hosts {
		h.begin(r.result.Start)
	}
	if r.watch.Started != nil {
		r.watch.Started(r.result.Start)
	}
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
	seen := map[string]string{}
	for _, a := range p.Applications {
		if a.Kind == scenario.Ping {
			continue
		}
		if _, ok := seen[a.To]; !ok {
			out, err := l.Capture(ctx, a.To, "ss", "-Hltun")
			if err != nil {
				return err
			}
			seen[a.To] = out
		}
		if strings.Contains(seen[a.To], ":"+strconv.Itoa(int(a.Port))+" ") {
			return fmt.Errorf("port %d on %s is taken; is another phase running? (%s)", a.Port, a.To, strings.TrimSpace(seen[a.To]))
		}
	}
	return nil
}

// run is one ping or transfer.
func (r *phaseRun) run(ctx context.Context, i int, a scenario.Application) error {
	l, result := r.lab, &r.result.Applications[i]
	*result = newResult(a)
	to, _ := l.Scenario.Host(a.To)
	target := to.Address.Addr().String()
	seconds := (a.Stop - a.Start).Seconds()
	begin := r.result.Start.Add(a.Start)
	var err error
	switch a.Kind {
	case scenario.TCP:
		// Programs take a moment to start, and not the same for each: they are started now and told when.
		if result.TCP, err = l.transfer(ctx, a, target, begin); err == nil {
			// What runs at a time is told by the senders' clock, which is this machine's.
			result.Start = result.TCP.began
		}
	case scenario.Ping:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(begin)):
		}
		r.watch.Progress(fmt.Sprintf("%s: %s from %s to %s for %g s", a.Name, a.Kind, a.From, a.To, seconds))
		result.Start = time.Now()
		result.Ping, err = l.ping(ctx, a, target, r.watch.Echo)
	}
	return err
}

func newResult(a scenario.Application) ApplicationResult {
	return ApplicationResult{Name: a.Name, Group: a.Group, Kind: a.Kind, From: a.From, To: a.To}
}
