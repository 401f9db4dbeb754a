package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/units"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

func pathsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "paths",
		Short: "Show the network and compute paths through it",
	}
	serverFlag(cmd)
	cmd.AddCommand(pathsShowCommand(), pathsComputeCommand(), pathsHostAdviceCommand())
	return cmd
}

func pathsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Show routers and links as the routers' link-state database has them",
		Example: "  millrace paths show\n  millrace paths show --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := pathsClient(cmd).Topology(cmd.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
			if err != nil {
				return fmt.Errorf("read the topology: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printTopology(cmd.OutOrStdout(), r.Msg.GetSnapshot())
		},
	}
	jsonFlag(cmd)
	return cmd
}

func pathsComputeCommand() *cobra.Command {
	req := &pathsv1.ComputeRequest{}
	var bandwidth string
	var most uint32
	cmd := &cobra.Command{
		Use:   "compute FROM TO",
		Short: "Compute an explicit path between two routers (names, router ids or loopbacks)",
		Example: "  millrace paths compute wr er\n" +
			"  millrace paths compute wr er --bandwidth 50Mbit/s --avoid-shortest\n" +
			"  millrace paths compute wr er --bandwidth 255Mbit/s --paths 3",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.From, req.To = args[0], args[1]
			if most > 1 {
				return computeSet(cmd, req, bandwidth, most)
			}
			if bandwidth != "" {
				rate, err := units.ParseRate(bandwidth)
				if err != nil {
					return coded{fmt.Errorf("--bandwidth: %w", err), exitUsage}
				}
				req.MinBandwidth = uint64(rate)
			}
			r, err := pathsClient(cmd).Compute(cmd.Context(), connect.NewRequest(req))
			if connect.CodeOf(err) == connect.CodeFailedPrecondition {
				return coded{err, exitUnmet}
			}
			if err != nil {
				return fmt.Errorf("compute a path: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printPath(cmd.OutOrStdout(), r.Msg.GetPath())
		},
	}
	f := cmd.Flags()
	f.StringVar(&bandwidth, "bandwidth", "", "use only links at least this wide, such as 1Gbit/s")
	f.Uint32Var(&most, "paths", 1, "at most so many paths, with weights, that have the bandwidth together (1 to 16)")
	f.BoolVar(&req.AvoidShortest, "avoid-shortest", false, "keep off the links of the IGP's shortest path where possible")
	f.StringSliceVar(&req.ExcludeNodes, "exclude-node", nil, "routers not to pass (repeatable)")
	f.StringSliceVar(&req.ExcludeLinks, "exclude-link", nil, "link ids not to use (repeatable)")
	jsonFlag(cmd)
	return cmd
}

// computeSet requests several paths.
func computeSet(cmd *cobra.Command, one *pathsv1.ComputeRequest, bandwidth string, most uint32) error {
	rate, err := units.ParseRate(bandwidth)
	if err != nil {
		return coded{fmt.Errorf("--paths is for a --bandwidth that one path may lack: %w", err), exitUsage}
	}
	r, err := pathsClient(cmd).ComputeSet(cmd.Context(), connect.NewRequest(&pathsv1.ComputeSetRequest{
		From: one.GetFrom(), To: one.GetTo(), Bandwidth: uint64(rate), MaxPaths: most,
		AvoidShortest: one.GetAvoidShortest(), ExcludeNodes: one.GetExcludeNodes(), ExcludeLinks: one.GetExcludeLinks(),
	}))
	if connect.CodeOf(err) == connect.CodeFailedPrecondition {
		return coded{err, exitUnmet}
	}
	if err != nil {
		return fmt.Errorf("compute paths: %w", err)
	}
	if wantJSON(cmd) {
		return printJSON(cmd, r.Msg)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "WEIGHT\tBANDWIDTH\tPATH\tSEGMENTS")
	for _, p := range r.Msg.GetPaths() {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", p.GetWeight(), units.Rate(p.GetBandwidth()), strings.Join(p.GetPath().GetNodes(), " – "),
			strings.Join(segmentTexts(p.GetPath().GetSegments(), p.GetPath().GetAdjacencies()), ", "))
	}
	fmt.Fprintf(w, "\nwhy\t%s\n", r.Msg.GetReason())
	return w.Flush()
}

func pathsClient(cmd *cobra.Command) pathsv1connect.PathsServiceClient {
	client, server := apiClient(cmd)
	return pathsv1connect.NewPathsServiceClient(client, server)
}

func printTopology(out io.Writer, s *topologyv1.TopologySnapshot) error {
	if len(s.GetNodes()) == 0 {
		_, err := fmt.Fprintln(out, "no topology yet: collectors/topology has not reached any router")
		return err
	}
	names := map[string]string{}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ROUTER\tROUTER ID\tLOOPBACK\tSID LABEL\tPREFIXES")
	for _, n := range s.GetNodes() {
		names[n.GetRouterId()] = orElse(n.GetName(), n.GetRouterId())
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", names[n.GetRouterId()], n.GetRouterId(), orElse(n.GetLoopback(), "-"),
			number(n.GetSidLabel()), orElse(strings.Join(n.GetPrefixes(), " "), "-"))
	}
	fmt.Fprintln(w, "\t\t\t\t")
	fmt.Fprintln(w, "LINK\tFROM\tTO\tINTERFACE\tMETRIC\tBANDWIDTH")
	for _, l := range s.GetLinks() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", l.GetId(), orElse(names[l.GetLocalRouterId()], l.GetLocalRouterId()),
			orElse(names[l.GetRemoteRouterId()], l.GetRemoteRouterId()), orElse(l.GetLocalInterface(), "-"),
			l.GetIgpMetric(), rate(l.GetMaxBandwidth()))
	}
	fmt.Fprintf(w, "\narea %s as %s saw it at %s\n", s.GetArea(), s.GetSource(), s.GetTime().AsTime().Local().Format("2006-01-02 15:04:05"))
	return w.Flush()
}

func printPath(out io.Writer, p *pathsv1.Path) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "path\t%s\n", strings.Join(p.GetNodes(), " – "))
	fmt.Fprintf(w, "links\t%s\n", strings.Join(p.GetLinks(), " "))
	fmt.Fprintf(w, "IGP cost\t%d\n", p.GetIgpCost())
	fmt.Fprintf(w, "bottleneck\t%s\n", rate(p.GetBottleneck()))
	fmt.Fprintf(w, "segments\t%s\n", strings.Join(segmentTexts(p.GetSegments(), p.GetAdjacencies()), ", "))
	fmt.Fprintf(w, "why\t%s\n", p.GetReason())
	return w.Flush()
}

// segmentTexts distinguishes links from routers.
func segmentTexts(segments, adjacencies []string) (out []string) {
	for _, s := range segments {
		if slices.Contains(adjacencies, s) {
			s = "link to " + s
		}
		out = append(out, s)
	}
	return out
}

func rate(bps uint64) string {
	if bps == 0 {
		return "unknown"
	}
	return units.Rate(bps).String()
}

func number(n uint32) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
