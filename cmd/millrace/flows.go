package main

import (
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/collectors/flow/nfcapd"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

func flowsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "flows",
		Short: "Import flow records, rank them, and show exporter health",
	}
	serverFlag(cmd)
	cmd.AddCommand(flowsImportCommand(), flowsGenerateCommand(), flowsQualityCommand(), flowsTopCommand(), flowsTagsCommand())
	return cmd
}

func collectorClient(cmd *cobra.Command) flowv1connect.FlowCollectorServiceClient {
	client, server := apiClient(cmd)
	return flowv1connect.NewFlowCollectorServiceClient(client, server)
}

func flowsImportCommand() *cobra.Command {
	opt := nfcapd.DefaultOptions()
	var exporter string
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import files written by nfcapd",
		Long: "Import files written by nfcapd or sfcapd. Those of nfdump 1.6 are read through the nfdump program.\n" +
			"Importing a file twice stores its flows once. Flows older than the store's retention disappear again.",
		Example: "  millrace flows import /var/cache/nfdump/nfcapd.202611211200\n" +
			"  millrace flows import --exporter 192.0.2.1 --sampling-rate 100 nfcapd.*",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if exporter != "" {
				addr, err := netip.ParseAddr(exporter)
				if err != nil {
					return coded{fmt.Errorf("--exporter: %w", err), exitUsage}
				}
				opt.Exporter = addr
			}
			return importFiles(cmd, files, opt)
		},
	}
	cmd.Flags().StringVar(&exporter, "exporter", "", "router of flows that do not name one")
	cmd.Flags().Uint64Var(&opt.SamplingRate, "sampling-rate", opt.SamplingRate,
		"one packet in this many was counted; nfcapd has usually multiplied already, 0 is unknown")
	jsonFlag(cmd)
	return cmd
}

func importFiles(cmd *cobra.Command, files []string, opt nfcapd.Options) error {
	all := &flowv1.ImportResponse{}
	for _, file := range files {
		total, err := nfcapd.Count(cmd.Context(), file)
		if err != nil {
			return coded{fmt.Errorf("%s: %w", file, err), exitUsage}
		}
		done, err := nfcapd.Import(cmd.Context(), collectorClient(cmd), file, opt, importProgress(cmd.ErrOrStderr(), file, total))
		if err != nil {
			return err
		}
		all.Batches += done.Batches
		all.Records += done.Records
		if !wantJSON(cmd) {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d records in %d batches, %d skipped (no flows)\n", file, done.Records, done.Batches, done.Skipped)
		}
	}
	if wantJSON(cmd) {
		return printJSON(cmd, all)
	}
	return nil
}

// importProgress prints a line every two seconds.
func importProgress(out io.Writer, file string, total uint64) func(uint64) {
	const every = 2 * time.Second
	last := time.Now()
	return func(n uint64) {
		if time.Since(last) >= every {
			last = time.Now()
			fmt.Fprintf(out, "%s: %d of %d records\n", file, n, total)
		}
	}
}

func flowsQualityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "quality",
		Short:   "Show rate, loss, templates and sampling of every exporter",
		Example: "  millrace flows quality\n  millrace flows quality --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := collectorClient(cmd).Quality(cmd.Context(), connect.NewRequest(&flowv1.QualityRequest{}))
			if err != nil {
				return fmt.Errorf("read the exporters' quality (is `millrace up` running?): %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printQuality(cmd.OutOrStdout(), r.Msg)
		},
	}
	jsonFlag(cmd)
	return cmd
}

var sourceNames = map[flowv1.Source]string{
	flowv1.Source_SOURCE_UNSPECIFIED: "-", flowv1.Source_SOURCE_NETFLOW_V5: "NetFlow v5",
	flowv1.Source_SOURCE_NETFLOW_V9: "NetFlow v9", flowv1.Source_SOURCE_IPFIX: "IPFIX", flowv1.Source_SOURCE_NFCAPD: "nfcapd",
	flowv1.Source_SOURCE_SFLOW: "sFlow v5",
}

func printQuality(out io.Writer, r *flowv1.QualityResponse) error {
	if len(r.GetExporters()) == 0 {
		fmt.Fprintln(out, "no exporter has sent anything yet; list its address in the inventory and point it at the collector's UDP port (2055 by default)")
	} else {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "EXPORTER\tDOMAIN\tFORMAT\tRECORDS\tPER SECOND\tLOST\tLOSS\tTEMPLATES\tSAMPLING\tLAST SEEN\tDROPPED\tSEEN")
		for _, e := range r.GetExporters() {
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%.1f\t%d\t%.3f%%\t%d\t%s\t%s\t%s\t%s\n",
				e.GetExporter(), e.GetObservationDomain(), sourceNames[e.GetSource()], e.GetRecords(), e.GetRecordsPerSecond(),
				e.GetLost(), 100*e.GetLossRatio(), e.GetTemplates(), oneIn(e.GetSamplingRate()),
				e.GetLastSeen().AsTime().Local().Format(time.DateTime), counts(e.GetDrops()), counts(e.GetEvents()))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "datagrams dropped by the kernel for want of buffer: %d\n", r.GetSocketDrops()); err != nil {
		return err
	}
	return printWorkersDrops(out, r)
}

// printWorkersDrops names whose datagrams the kernel can have dropped, where a collector has several workers. Senders
// that are counted under 0.0.0.0 are of any.
func printWorkersDrops(out io.Writer, r *flowv1.QualityResponse) error {
	several := slices.ContainsFunc(r.GetSockets(), func(s *flowv1.CollectorSocket) bool { return s.GetWorker() > 0 })
	for _, s := range r.GetSockets() {
		if !several || s.GetDrops() == 0 {
			continue
		}
		var exporters []string
		for _, e := range r.GetExporters() {
			if e.GetWorker() == s.GetWorker() || e.GetExporter() == "0.0.0.0" {
				exporters = append(exporters, e.GetExporter())
			}
		}
		_, err := fmt.Fprintf(out, "  %d at worker %d of %s, beside %d that it took; exporters of that worker: %s\n",
			s.GetDrops(), s.GetWorker(), s.GetListen(), s.GetDatagrams(), strings.Join(slices.Compact(exporters), ", "))
		if err != nil {
			return err
		}
	}
	return nil
}

func oneIn(rate uint64) string {
	switch rate {
	case 0:
		return "unknown"
	case 1:
		return "none"
	}
	return fmt.Sprintf("1:%d", rate)
}

func counts(m map[string]uint64) string {
	if len(m) == 0 {
		return "-"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, m[name]))
	}
	return strings.Join(parts, " ")
}

func flowsTopCommand() *cobra.Command {
	var when window
	req := &flowv1.TopRequest{}
	cmd := &cobra.Command{
		Use:     "top",
		Short:   "Rank prefix pairs by bytes",
		Example: "  millrace flows top\n  millrace flows top --from 24h --prefix-length 32 --limit 50",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if req.From, req.To, err = when.untilNow(); err != nil {
				return err
			}
			client, server := apiClient(cmd)
			r, err := flowv1connect.NewFlowStoreServiceClient(client, server).Top(cmd.Context(), connect.NewRequest(req))
			if connect.CodeOf(err) == connect.CodeInvalidArgument {
				return coded{err, exitUsage}
			}
			if err != nil {
				return fmt.Errorf("rank prefix pairs (is `millrace up` running?): %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printTop(cmd.OutOrStdout(), r.Msg)
		},
	}
	when.flags(cmd, "1h")
	cmd.Flags().Uint32Var(&req.Ipv4Length, "prefix-length", 24, "IPv4 prefix length: 24 or 32 (IPv6: 48 or 64)")
	cmd.Flags().Uint32Var(&req.Limit, "limit", 20, "number of pairs")
	jsonFlag(cmd)
	return cmd
}

func printTop(out io.Writer, r *flowv1.TopResponse) error {
	if len(r.GetPairs()) == 0 {
		_, err := fmt.Fprintln(out, "no flow started in this window")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SOURCE\tDESTINATION\tBYTES\tPACKETS\tFLOWS")
	for _, p := range r.GetPairs() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", p.GetPair().GetSrc(), p.GetPair().GetDst(), megabytes(p.GetBytes()), p.GetPackets(), p.GetFlows())
	}
	return w.Flush()
}
