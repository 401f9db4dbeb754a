package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/scenario"
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

	interval time.Duration
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
	// SocketDropped packets reached the receiving host and found the socket's buffer full.
	SocketDropped int `json:"socket_dropped"`
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
	// Tenths are octets of frames by the tenth of a second of the phase in which they arrived.
	Tenths []uint64 `json:"frame_octets_by_tenth,omitempty"`

	began    time.Time
	seconds  float64
	sentDSCP int
}

// Observer is called about a phase while it runs; any field may be nil.
type Observer struct {
	// Progress gets plain words: an application starts or ends.
	Progress func(string)
	// WholeSecond lets the phase start on a full second of this machine's clock, as circuits do.
	WholeSecond bool
	// Started is called a moment before the phase starts.
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
	r := &phaseRun{lab: l, phase: p, watch: watch, failures: make([]error, len(p.Applications)+1), transfers: make([]*transferRun, len(p.Applications))}
	r.result = &PhaseResult{Phase: name, Applications: make([]ApplicationResult, len(p.Applications))}
	if err := r.prepare(ctx); err != nil {
		return nil, fmt.Errorf("phase %s: %w", name, err)
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
	// Programs of streams by host, and transfers by application.
	streams   []*program
	transfers []*transferRun
}

// prepare starts all programs and waits until every one is ready.
func (r *phaseRun) prepare(ctx context.Context) error {
	if err := r.pace(ctx); err != nil {
		return err
	}
	if err := r.startStreams(ctx); err != nil {
		return err
	}
	var wait sync.WaitGroup
	failures := make([]error, len(r.phase.Applications))
	for i, a := range r.phase.Applications {
		if a.Kind == scenario.TCP {
			wait.Go(func() { r.transfers[i], failures[i] = r.lab.startTransfer(ctx, a) })
		}
	}
	wait.Wait()
	for _, p := range r.streams {
		failures = append(failures, p.await(ctx))
	}
	return firstCause(failures)
}

func (r *phaseRun) fail(i int, name string, err error, cancel func()) {
	if err != nil {
		r.failures[i] = fmt.Errorf("application %s of phase %s: %w", name, r.phase.Name, err)
		cancel()
	}
}

// lead is how long the word that the phase begins has to reach every program.
const lead = 250 * time.Millisecond

// begin sets the phase's start and tells everyone.
func (r *phaseRun) begin() {
	r.result.Start = time.Now().Add(lead)
	if r.watch.WholeSecond {
		r.result.Start = r.result.Start.Add(time.Second - time.Nanosecond).Truncate(time.Second)
	}
	for _, p := range r.streams {
		p.tell(r.result.Start)
	}
	for _, t := range r.transfers {
		if t != nil {
			t.begin(r.result.Start)
		}
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
	result := &r.result.Applications[i]
	*result = newResult(a)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(r.result.Start.Add(a.Start))):
	}
	r.watch.Progress(fmt.Sprintf("%s: %s from %s to %s for %g s", a.Name, a.Kind, a.From, a.To, (a.Stop - a.Start).Seconds()))
	result.Start = time.Now()
	var err error
	switch a.Kind {
	case scenario.TCP:
		if result.TCP, err = r.transfers[i].end(); err == nil {
			result.Start = result.TCP.began // the sender's clock is this machine's
		}
	case scenario.Ping:
		to, _ := r.lab.Scenario.Host(a.To)
		result.Ping, err = r.lab.ping(ctx, a, to.Address.Addr().String(), r.watch.Echo)
	}
	return err
}

func newResult(a scenario.Application) ApplicationResult {
	return ApplicationResult{Name: a.Name, Group: a.Group, Kind: a.Kind, From: a.From, To: a.To}
}
