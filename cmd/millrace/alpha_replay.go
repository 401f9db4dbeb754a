package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/units"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

func alphaReplayCommand() *cobra.Command {
	var o replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Show what nightly runs of last month would have done under other rules",
		Long: "Make the nightly runs of a past time again under other rules, and show what each rule would have caught. Nothing is stored, and no change set is requested.\n" +
			"The flags of a rule can be repeated: the first values make the first rule, and so on. A flag that is given once is that of every rule, and one that is not given is as configured.",
		Example: "  millrace alpha replay --prefix 24 --prefix 32\n" +
			"  millrace alpha replay --min-bytes 1GB --min-bytes 500MB --age 30d --age 7d\n" +
			"  millrace alpha replay --from 2026-10-01T00:00:00Z --to 2026-11-01T00:00:00Z --interval 60s --interval 10s --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := o.request(time.Now())
			if err != nil {
				return coded{err, exitUsage}
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "reading one day after the other …")
			rules, err := runReplay(cmd, req)
			if connect.CodeOf(err) == connect.CodeInvalidArgument {
				return coded{err, exitUsage}
			}
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			if wantJSON(cmd) {
				return writeJSON(cmd.OutOrStdout(), rules)
			}
			return printReplay(cmd.OutOrStdout(), rules)
		},
	}
	o.register(cmd)
	jsonFlag(cmd)
	return cmd
}

type replayFlags struct {
	minBytes, intervals, prefixes, ages []string
	window
	warmUp string
}

func (o *replayFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.minBytes, "min-bytes", nil, "H: a flow is alpha above this many bytes per interval, such as 1GB; repeatable")
	f.StringArrayVar(&o.intervals, "interval", nil, "length of the fixed intervals, such as 60s; repeatable")
	f.StringArrayVar(&o.prefixes, "prefix", nil, "IPv4 prefix length under which pairs are remembered: 24 or 32 (IPv6: 48 or 64); repeatable")
	f.StringArrayVar(&o.ages, "age", nil, "how long a pair outlives its last flow, such as 30d or 12h; repeatable")
	f.StringVar(&o.from, "from", "", "first day: RFC 3339, or how long ago, moved back to midnight UTC (default: 30 days before --to)")
	f.StringVar(&o.to, "to", "", "end, moved back to midnight UTC (default: now)")
	f.StringVar(&o.warmUp, "warm-up", "", "nightly runs before --from that are simulated and not shown, so that pairs are known, such as 30d (default: 30d)")
}

func (o *replayFlags) request(now time.Time) (*alphav1.ReplayRequest, error) {
	req := &alphav1.ReplayRequest{}
	var err error
	if req.From, req.To, err = o.times(now); err != nil {
		return nil, err
	}
	if o.warmUp != "" {
		if req.WarmUp, err = parseDays("--warm-up", o.warmUp); err != nil {
			return nil, err
		}
	}
	n := max(1, len(o.minBytes), len(o.intervals), len(o.prefixes), len(o.ages))
	for i := range n {
		rule, err := o.rule(i, n)
		if err != nil {
			return nil, err
		}
		req.Rules = append(req.Rules, rule)
	}
	return req, nil
}

// rule is the one number i of n.
func (o *replayFlags) rule(i, n int) (*alphav1.ReplayRule, error) {
	r := &alphav1.ReplayRule{}
	for _, f := range []struct {
		name   string
		values []string
		set    func(string) error
	}{
		{"--min-bytes", o.minBytes, func(s string) error {
			size, err := units.ParseSize(s)
			r.MinBytes = proto.Uint64(uint64(size))
			return err
		}},
		{"--interval", o.intervals, func(s string) (err error) { r.Interval, err = parseDays("--interval", s); return err }},
		{"--prefix", o.prefixes, func(s string) error {
			length, err := strconv.ParseUint(strings.TrimPrefix(s, "/"), 10, 32)
			r.Ipv4Length = proto.Uint32(uint32(length))
			return err
		}},
		{"--age", o.ages, func(s string) (err error) { r.AgeAfter, err = parseDays("--age", s); return err }},
	} {
		var value string
		switch len(f.values) {
		case 0:
			continue
		case 1:
			value = f.values[0]
		case n:
			value = f.values[i]
		default:
			return nil, fmt.Errorf("%s is given %d times, and there are %d rules: give it once, or once for each rule", f.name, len(f.values), n)
		}
		if err := f.set(value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return r, nil
}

// parseDays reads a duration; 30d are thirty days of 24 hours.
func parseDays(flag, s string) (*durationpb.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return durationpb.New(time.Duration(n) * 24 * time.Hour), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, fmt.Errorf("%s %q: write it as 30d, 12h or 60s", flag, s)
	}
	return durationpb.New(d), nil
}

// daysText writes whole days as parseDays reads them.
func daysText(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// replayed is what one rule would have done.
type replayed struct {
	Rule string `json:"rule"`
	// Pairs are those known before the last day, MostPairs the largest number before any.
	Pairs     uint32 `json:"pairs"`
	MostPairs uint32 `json:"most_pairs"`
	// Changes are pairs added and aged out, MostChanges those of the busiest nightly run.
	Changes     uint32      `json:"changes"`
	MostChanges uint32      `json:"most_changes"`
	AlphaBytes  uint64      `json:"alpha_bytes"`
	CaughtBytes uint64      `json:"caught_bytes"`
	Redirected  uint64      `json:"redirected_bytes"`
	False       uint64      `json:"falsely_redirected_bytes"`
	Refused     uint32      `json:"refused_exporter_days"`
	Runs        []replayRun `json:"runs"`
}

type replayRun struct {
	Day         string `json:"day"`
	Pairs       uint32 `json:"pairs"`
	Added       uint32 `json:"added"`
	AgedOut     uint32 `json:"aged_out"`
	AlphaBytes  uint64 `json:"alpha_bytes"`
	CaughtBytes uint64 `json:"caught_bytes"`
	Redirected  uint64 `json:"redirected_bytes"`
	False       uint64 `json:"falsely_redirected_bytes"`
	Refused     uint32 `json:"refused_exporters"`
}

func (r *replayed) add(n *alphav1.ReplayResponse) {
	changes := n.GetAdded() + n.GetAgedOut()
	r.Pairs, r.MostPairs = n.GetPairs(), max(r.MostPairs, n.GetPairs())
	r.Changes, r.MostChanges = r.Changes+changes, max(r.MostChanges, changes)
	r.AlphaBytes += n.GetAlphaBytes()
	r.CaughtBytes += n.GetCaughtBytes()
	r.Redirected += n.GetRedirectedBytes()
	r.False += n.GetFalselyRedirectedBytes()
	r.Refused += n.GetRefusedExporters()
	r.Runs = append(r.Runs, replayRun{
		n.GetDay().AsTime().Format(time.DateOnly), n.GetPairs(), n.GetAdded(), n.GetAgedOut(), n.GetAlphaBytes(), n.GetCaughtBytes(),
		n.GetRedirectedBytes(), n.GetFalselyRedirectedBytes(), n.GetRefusedExporters(),
	})
}

func runReplay(cmd *cobra.Command, req *alphav1.ReplayRequest) ([]*replayed, error) {
	rules := make([]*replayed, len(req.GetRules()))
	for i, r := range req.GetRules() {
		rules[i] = &replayed{Rule: replayRuleText(r)}
	}
	stream, err := alphaClient(cmd).Replay(cmd.Context(), connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for stream.Receive() {
		if n := stream.Msg(); int(n.GetRule()) < len(rules) {
			rules[n.GetRule()].add(n)
		}
	}
	return rules, stream.Err()
}

// replayRuleText names what a rule sets.
func replayRuleText(r *alphav1.ReplayRule) string {
	var parts []string
	if r.MinBytes != nil {
		parts = append(parts, units.Size(r.GetMinBytes()).String())
	}
	if r.GetInterval() != nil {
		parts = append(parts, "in "+r.GetInterval().AsDuration().String())
	}
	if r.Ipv4Length != nil {
		parts = append(parts, fmt.Sprintf("/%d", r.GetIpv4Length()))
	}
	if r.GetAgeAfter() != nil {
		parts = append(parts, "age "+daysText(r.GetAgeAfter().AsDuration()))
	}
	if len(parts) == 0 {
		return "as configured"
	}
	return strings.Join(parts, " ")
}

func printReplay(out io.Writer, rules []*replayed) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RULE\tRUNS\tPAIRS (MOST)\tCHANGES PER RUN (MOST)\tALPHA BYTES\tCAUGHT\tREDIRECTED\tFALSELY")
	for _, r := range rules {
		runs := max(1, len(r.Runs))
		fmt.Fprintf(w, "%s\t%d\t%d (%d)\t%.1f (%d)\t%s\t%s\t%s\t%s\n", r.Rule, len(r.Runs), r.Pairs, r.MostPairs,
			float64(r.Changes)/float64(runs), r.MostChanges, gigabytes(r.AlphaBytes), percent(r.CaughtBytes, r.AlphaBytes),
			gigabytes(r.Redirected), percent(r.False, r.Redirected))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rules {
		if r.Refused > 0 {
			fmt.Fprintf(out, "%s: pairs of exporters whose export was incomplete stayed as they were, in %d cases of an exporter and a day\n", r.Rule, r.Refused)
		}
	}
	return nil
}
