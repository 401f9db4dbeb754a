package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

func flowsTagsCommand() *cobra.Command {
	var when window
	var byExporter bool
	req := &flowv1.TagTrafficRequest{}
	cmd := &cobra.Command{
		Use:   "tags",
		Short: "Show what flows of each community and activity sent (SciTags)",
		Long: "Show what flows of each community and activity sent, by the fireflies of hosts and by the flow labels of IPv6.\n" +
			"A flow that several exporters report counts once for each: --by-exporter tells them apart.",
		Example: "  millrace flows tags\n  millrace flows tags --from 168h --by-exporter",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if req.From, req.To, err = when.untilNow(); err != nil {
				return err
			}
			client, server := apiClient(cmd)
			r, err := flowv1connect.NewFlowStoreServiceClient(client, server).TagTraffic(cmd.Context(), connect.NewRequest(req))
			if connect.CodeOf(err) == connect.CodeInvalidArgument {
				return coded{err, exitUsage}
			}
			if err != nil {
				return fmt.Errorf("add up flows by tag (is `millrace up` running?): %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printTags(cmd.OutOrStdout(), r.Msg, byExporter)
		},
	}
	when.flags(cmd, "24h")
	cmd.Flags().BoolVar(&byExporter, "by-exporter", false, "tell exporters apart")
	jsonFlag(cmd)
	return cmd
}

func printTags(out io.Writer, r *flowv1.TagTrafficResponse, byExporter bool) error {
	if len(r.GetTags()) == 0 {
		_, err := fmt.Fprintf(out, "no flow of this window had a tag; all flows sent %s\n", megabytes(r.GetBytes()))
		return err
	}
	tags := r.GetTags()
	if !byExporter {
		tags = overExporters(tags)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EXPORTER\tCOMMUNITY\tACTIVITY\tBYTES\tSHARE\tBY FIREFLY\tRECORDS")
	var tagged uint64
	for _, t := range tags {
		tagged += t.GetBytes()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n", cmp.Or(t.GetExporter(), "all"), t.GetCommunityName(), t.GetActivityName(),
			megabytes(t.GetBytes()), percent(t.GetBytes(), r.GetBytes()), megabytes(t.GetFireflyBytes()), t.GetRecords())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "with a tag: %s of %s (%s)\n", megabytes(tagged), megabytes(r.GetBytes()), percent(tagged, r.GetBytes()))
	return err
}

// overExporters adds up each tag over exporters, most bytes first.
func overExporters(tags []*flowv1.TagTraffic) (all []*flowv1.TagTraffic) {
	of := map[[2]uint32]*flowv1.TagTraffic{}
	for _, t := range tags {
		key := [2]uint32{t.GetCommunity(), t.GetActivity()}
		sum := of[key]
		if sum == nil {
			sum = &flowv1.TagTraffic{Community: key[0], Activity: key[1], CommunityName: t.GetCommunityName(), ActivityName: t.GetActivityName()}
			of[key] = sum
			all = append(all, sum)
		}
		sum.Bytes += t.GetBytes()
		sum.FireflyBytes += t.GetFireflyBytes()
		sum.Records += t.GetRecords()
	}
	slices.SortStableFunc(all, func(a, b *flowv1.TagTraffic) int { return cmp.Compare(b.GetBytes(), a.GetBytes()) })
	return all
}
