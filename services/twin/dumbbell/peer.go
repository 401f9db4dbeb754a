package dumbbell

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Arguments are the parameters as the programs of tools/ns3 and tools/htsim take them.
func (p Parameters) Arguments() []string {
	sack := 0
	if p.SACK {
		sack = 1
	}
	var out []string
	for _, a := range []struct {
		name  string
		value any
	}{
		{"pairs", p.Pairs}, {"flows", p.Flows}, {"buffer", p.Buffer}, {"window", p.Window}, {"initial", p.Initial},
		{"payload", p.Payload}, {"ack-every", p.AckEvery}, {"access", p.Access}, {"core", p.Core},
		{"access-delay", p.AccessDelay}, {"core-delay", p.CoreDelay}, {"delay-step", p.DelayStep}, {"loss", p.Loss},
		{"stagger", p.Stagger}, {"warm", p.Warm}, {"seconds", p.Duration}, {"sack", sack}, {"algorithm", p.Algorithm}, {"seed", p.Seed},
	} {
		out = append(out, fmt.Sprintf("--%s=%v", a.name, a.value))
	}
	return out
}

// Peer runs a program of another simulator and returns its processor time.
func Peer(ctx context.Context, program string, p Parameters) (Result, time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, p.Arguments()...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		return Result{}, 0, fmt.Errorf("run %s %s: %w: %s", program, strings.Join(p.Arguments(), " "), err, strings.TrimSpace(complaint.String()))
	}
	r, err := Parse(string(text))
	if err != nil {
		return Result{}, 0, fmt.Errorf("read the output of %s: %w", program, err)
	}
	return r, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// Print is what such a program prints.
func (r Result) Print() string {
	var each []string
	for _, f := range r.Flows {
		each = append(each, strconv.FormatFloat(f, 'f', 4, 64))
	}
	return fmt.Sprintf("goodput_mbps=%.4f\nhops=%d\nflow_mbps=%s\n", r.Goodput, r.Hops, strings.Join(each, ","))
}

// Parse reads it; it skips lines of other kinds, which the program prints for itself.
func Parse(text string) (Result, error) {
	var r Result
	var err error
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "goodput_mbps":
			r.Goodput, err = strconv.ParseFloat(value, 64)
		case "hops":
			r.Hops, err = strconv.ParseInt(value, 10, 64)
		case "flow_mbps":
			for f := range strings.SplitSeq(value, ",") {
				var v float64
				if v, err = strconv.ParseFloat(f, 64); err != nil {
					break
				}
				r.Flows = append(r.Flows, v)
			}
		}
		if err != nil {
			return r, fmt.Errorf("line %q: %w", strings.TrimSpace(line), err)
		}
	}
	if r.Hops == 0 || len(r.Flows) == 0 {
		return r, fmt.Errorf("no hops or no flows in %q", text)
	}
	return r, nil
}
