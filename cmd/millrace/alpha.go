package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/units"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
)

func alphaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alpha",
		Short: "Find and list alpha pairs: prefixes between which huge transfers happen",
	}
	serverFlag(cmd)
	cmd.AddCommand(alphaNightlyCommand(), alphaListCommand(), alphaExplainCommand(), alphaNowCommand(), alphaRedirectCommand(), alphaEffectivenessCommand(), alphaReplayCommand())
	return cmd
}

func alphaClient(cmd *cobra.Command) alphav1connect.AlphaServiceClient {
	client, server := apiClient(cmd)
	return alphav1connect.NewAlphaServiceClient(client, server)
}

func alphaNightlyCommand() *cobra.Command {
	var o nightlyFlags
	cmd := &cobra.Command{
		Use:   "nightly",
		Short: "Find alpha pairs in stored flows, age old ones out, request a change set",
		Long: "Find alpha pairs in stored flows, age old ones out, and request a change set with the result.\n" +
			"Without flags it does what the scheduled run does at night. Nothing reaches a router before the change set is approved.",
		Example: "  millrace alpha nightly\n" +
			"  millrace alpha nightly --dry-run --min-bytes 500MB --prefix-length 32\n" +
			"  millrace alpha nightly --from 2026-11-20T00:00:00Z --to 2026-11-21T00:00:00Z\n" +
			"  millrace alpha nightly --from 2h\n" +
			"  millrace alpha nightly --report mail | sendmail noc@example.net",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := o.request(cmd, time.Now())
			if err != nil {
				return coded{err, exitUsage}
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "summing flows over fixed intervals …")
			r, err := alphaClient(cmd).Nightly(cmd.Context(), connect.NewRequest(req))
			if connect.CodeOf(err) == connect.CodeInvalidArgument {
				return coded{err, exitUsage}
			}
			if err != nil {
				return fmt.Errorf("nightly run: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			if o.report != "" {
				return o.write(cmd, r.Msg)
			}
			return printNightlyRun(cmd.OutOrStdout(), r.Msg, o.dryRun)
		},
	}
	o.register(cmd)
	jsonFlag(cmd)
	return cmd
}

// nightlyFlags are read as text, so that what was not given stays the service's choice.
type nightlyFlags struct {
	window
	minBytes     string
	interval     time.Duration
	prefixLength uint32
	dryRun       bool
	report       string
}

func (o *nightlyFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "start of the window: RFC 3339, or how long ago such as 2h (default: 24h before --to; without --to also where the last run ended, less an overlap)")
	f.StringVar(&o.to, "to", "", "end of the window (default: now)")
	f.StringVar(&o.minBytes, "min-bytes", "", "H: a flow is alpha above this many bytes per interval, such as 1GB")
	f.DurationVar(&o.interval, "interval", 0, "length of the fixed intervals, such as 60s")
	f.Uint32Var(&o.prefixLength, "prefix-length", 0, "IPv4 prefix length under which pairs are remembered: 24 or 32 (IPv6: 48 or 64)")
	f.BoolVar(&o.dryRun, "dry-run", false, "find and print, but store nothing and request no change set")
	f.StringVar(&o.report, "report", "", "print a report for people who were not there: text, html, or mail (a message with both)")
}

func (o *nightlyFlags) request(cmd *cobra.Command, now time.Time) (*alphav1.NightlyRequest, error) {
	req := &alphav1.NightlyRequest{DryRun: o.dryRun}
	if _, known := reports[o.report]; o.report != "" && !known {
		return nil, fmt.Errorf("--report %q: write text, html or mail", o.report)
	}
	var err error
	if req.From, req.To, err = o.times(now); err != nil {
		return nil, err
	}
	if o.minBytes != "" {
		n, err := units.ParseSize(o.minBytes)
		if err != nil {
			return nil, fmt.Errorf("--min-bytes: %w", err)
		}
		req.MinBytes = proto.Uint64(uint64(n))
	}
	if cmd.Flags().Changed("interval") {
		req.Interval = durationpb.New(o.interval)
	}
	if cmd.Flags().Changed("prefix-length") {
		req.Ipv4Length = proto.Uint32(o.prefixLength)
	}
	return req, nil
}

func alphaListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the pairs in force",
		Example: "  millrace alpha list\n  millrace alpha list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := alphaClient(cmd).List(cmd.Context(), connect.NewRequest(&alphav1.ListRequest{}))
			if err != nil {
				return fmt.Errorf("list alpha pairs: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			if len(r.Msg.GetPairs()) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "no alpha pair is in force; `millrace alpha nightly` looks for some")
				return nil
			}
			return printPairs(cmd.OutOrStdout(), "", r.Msg.GetPairs())
		},
	}
	jsonFlag(cmd)
	return cmd
}

func alphaExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain PAIR",
		Short:   "Show the evidence for one pair (its id, or SOURCE,DESTINATION)",
		Example: "  millrace alpha explain p6gsacxg7gqha\n  millrace alpha explain 10.1.0.0/24,10.2.0.0/24",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := alphaClient(cmd).Explain(cmd.Context(), connect.NewRequest(&alphav1.ExplainRequest{Pair: args[0]}))
			if connect.CodeOf(err) == connect.CodeNotFound {
				return coded{err, exitUnmet}
			}
			if err != nil {
				return fmt.Errorf("explain pair: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printEvidence(cmd.OutOrStdout(), r.Msg.GetPair())
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printNightlyRun(out io.Writer, r *alphav1.NightlyResponse, dryRun bool) error {
	for _, group := range []struct {
		title string
		pairs []*alphav1.Pair
	}{{"added", r.GetAdded()}, {"refreshed", r.GetRefreshed()}, {"aged out", r.GetAgedOut()}} {
		if len(group.pairs) == 0 {
			continue
		}
		if err := printPairs(out, group.title, group.pairs); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	if err := printInCircuits(out, r.GetInCircuits()); err != nil {
		return err
	}
	for _, f := range r.GetRefused() {
		fmt.Fprintf(out, "left as they are: pairs of exporter %s, because %s\n", f.GetExporter(), f.GetReason())
	}
	for _, w := range r.GetWarnings() {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
	fmt.Fprintf(out, "%d pairs added, %d refreshed, %d aged out\n", len(r.GetAdded()), len(r.GetRefreshed()), len(r.GetAgedOut()))
	switch {
	case dryRun:
		fmt.Fprintln(out, "dry run: nothing was stored, no change set was requested")
	case r.GetChangeId() != "":
		fmt.Fprintf(out, "change set %s was requested: millrace change show %s\n", r.GetChangeId(), r.GetChangeId())
	default:
		fmt.Fprintln(out, "no router's rules change, so no change set was requested")
	}
	return nil
}

func printInCircuits(out io.Writer, list []*alphav1.InCircuit) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(out, "within circuits, so not added:")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "CIRCUIT\tSOURCE\tDESTINATION\tEXPORTER\tLAST ALPHA\tMOST")
	for _, in := range list {
		p := in.GetPair()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", in.GetCircuit(), p.GetSrc(), p.GetDst(), p.GetExporter(), clock(p.GetLastAlpha()), most(p.GetEvidence()))
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func printPairs(out io.Writer, title string, pairs []*alphav1.Pair) error {
	if title != "" {
		fmt.Fprintln(out, title+":")
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "PAIR\tSOURCE\tDESTINATION\tEXPORTER\tLAST ALPHA\tMOST\tWHOSE\tAGES OUT")
	for _, p := range pairs {
		whose := "-"
		if len(p.GetTags()) > 0 {
			whose = tagShare(p, p.GetTags()[0])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.GetId(), p.GetSrc(), p.GetDst(), p.GetExporter(),
			clock(p.GetLastAlpha()), most(p.GetEvidence()), whose, p.GetAgesOut().AsTime().Local().Format("2006-01-02"))
	}
	return w.Flush()
}

// tagShare is what flows of a tag sent of what the pair did.
func tagShare(p *alphav1.Pair, t *alphav1.PairTag) string {
	name := t.GetCommunityName()
	if t.GetActivity() > 0 { // 0 is none in particular
		name += "/" + t.GetActivityName()
	}
	return name + " " + percent(t.GetBytes(), p.GetSentBytes())
}

// most is the largest sum among the evidence, with its interval.
func most(list []*alphav1.Evidence) string {
	var top *alphav1.Evidence
	for _, e := range list {
		if e.GetBytes() >= top.GetBytes() {
			top = e
		}
	}
	if top == nil {
		return "-"
	}
	return fmt.Sprintf("%s in %s", megabytes(top.GetBytes()), top.GetInterval().AsDuration())
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func printEvidence(out io.Writer, p *alphav1.Pair) error {
	fmt.Fprintf(out, "pair %s: %s to %s, seen by exporter %s\n", p.GetId(), p.GetSrc(), p.GetDst(), p.GetExporter())
	fmt.Fprintf(out, "alpha first %s, last %s; any flow last %s; forgotten after %s without one\n",
		clock(p.GetFirstSeen()), clock(p.GetLastAlpha()), clock(p.GetLastSeen()), clock(p.GetAgesOut()))
	if len(p.GetTags()) > 0 {
		var whose []string
		for _, t := range p.GetTags() {
			whose = append(whose, tagShare(p, t))
		}
		fmt.Fprintf(out, "whose flows: %s of %s\n", strings.Join(whose, ", "), megabytes(p.GetSentBytes()))
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "INTERVAL\tFLOW\tSENT\tTHRESHOLD\tSAMPLING\tERROR (1 SD)\t95 % BETWEEN\tINTERFACE")
	for _, e := range p.GetEvidence() {
		fmt.Fprintf(w, "%s + %s\t%s:%d → %s:%d proto %d\t%s\t%s\t%s\t%s\t%s\t%d\n",
			clock(e.GetIntervalStart()), e.GetInterval().AsDuration(),
			e.GetSrcAddr(), e.GetSrcPort(), e.GetDstAddr(), e.GetDstPort(), e.GetProtocol(),
			megabytes(e.GetBytes()), megabytes(e.GetMinBytes()), sampling(e.GetSamplingRate()), samplingError(e), bounds(e), e.GetInIf())
	}
	return w.Flush()
}

func sampling(rate uint64) string {
	switch rate {
	case 0:
		return "unknown"
	case 1:
		return "none"
	}
	return fmt.Sprintf("1:%d", rate)
}

func samplingError(e *alphav1.Evidence) string {
	if e.GetSamplingRate() == 0 {
		return "sent at least this"
	}
	return fmt.Sprintf("%.1f %%", 100*e.GetSamplingError())
}

// bounds says between what the bytes lie by sampling, and where that leaves the threshold. Evidence of earlier releases
// has none.
func bounds(e *alphav1.Evidence) string {
	switch {
	case e.GetSamplingRate() <= 1 || e.GetHighBytes() == 0:
		return "-"
	case e.GetLowBytes() <= e.GetMinBytes():
		return fmt.Sprintf("%s and %s: may be below the threshold", megabytes(e.GetLowBytes()), megabytes(e.GetHighBytes()))
	}
	return fmt.Sprintf("%s and %s", megabytes(e.GetLowBytes()), megabytes(e.GetHighBytes()))
}

func clock(t *timestamppb.Timestamp) string { return t.AsTime().Local().Format("2006-01-02 15:04:05") }
