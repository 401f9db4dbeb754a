package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/months"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// flowsGenerateCommand imports made-up months, for a trial of a rule where no month has been collected yet.
func flowsGenerateCommand() *cobra.Command {
	p := months.Defaults()
	p.Days = 60
	var exporters []string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Import made-up months of flows, to try a rule on",
		Long: "Import made-up months of flows, to try a rule on.\n" +
			"They end with the last midnight UTC, and are between prefixes for benchmarks and documentation (198.18.0.0/16, 2001:db8::/32).\n" +
			"Use a store for trials: the flows stay until the store's retention ends, and the nightly run finds pairs in them. The same command a second time on the same day stores nothing more.",
		Example: "  millrace flows generate --exporter 192.0.2.1\n  millrace flows generate --exporter 192.0.2.1 --exporter 192.0.2.2 --days 30 --seed 7",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.Exporters = nil
			for _, e := range exporters {
				addr, err := netip.ParseAddr(e)
				if err != nil {
					return coded{fmt.Errorf("--exporter: %w", err), exitUsage}
				}
				p.Exporters = append(p.Exporters, addr)
			}
			now := time.Now().UTC()
			p.From = now.Truncate(24*time.Hour).AddDate(0, 0, -p.Days)
			traffic, err := months.Generate(p)
			if err != nil {
				return coded{err, exitUsage}
			}
			// The last transfers may go on after midnight, and the collector takes nothing of the future.
			traffic.Records = slices.DeleteFunc(traffic.Records, func(r flowrecord.Record) bool { return r.End.After(now) })
			done, err := importMonths(cmd.Context(), collectorClient(cmd), traffic.Batches(p.Name(), generatedBatch))
			if err != nil {
				return fmt.Errorf("import generated flows (is `millrace up` running?): %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, done)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d days: %d records in %d batches, %d intervals above %d bytes\n",
				p.Days, done.GetRecords(), done.GetBatches(), len(traffic.Bursts), p.MinBytes)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&exporters, "exporter", nil, "ingress router of the flows, an exporter of the inventory; repeatable (required)")
	cmd.Flags().IntVar(&p.Days, "days", p.Days, "number of days; the first must not be longer ago than flow.import_max_age")
	cmd.Flags().Uint64Var(&p.Seed, "seed", p.Seed, "equal seeds give equal flows")
	cmd.Flags().IntVar(&p.Sessions, "sessions", p.Sessions, "sessions of transfers per day")
	jsonFlag(cmd)
	return cmd
}

// generatedBatch is how many records a batch has; the collector takes 10,000.
const generatedBatch = 5000

func importMonths(ctx context.Context, client flowv1connect.FlowCollectorServiceClient, batches []*flowv1.FlowBatch) (*flowv1.ImportResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := client.Import(ctx)
	for _, b := range batches {
		if err := stream.Send(&flowv1.ImportRequest{Batch: b}); err != nil {
			if errors.Is(err, io.EOF) { // the collector has the reason
				break
			}
			return nil, err
		}
	}
	answer, err := stream.CloseAndReceive()
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}
