package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/portcounters"
	"github.com/millrace/millrace/internal/split"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push"
)

func splitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "split",
		Short: "What beta should be guaranteed on each port, by the routers' counters and a forecast",
	}
	serverFlag(cmd)
	cmd.AddCommand(splitStatusCommand(), splitAdviseCommand())
	return cmd
}

func splitAdviseCommand() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use:   "advise POLICY",
		Short: "Say what the law decides now for each port of a policy with a split; changes nothing",
		Long: "Read what the queues of each port sent and dropped over the last days, and say what the law of\n" +
			"docs/reference/split.md decides now: the rule, its reason, and the command that requests the change set.\n" +
			"Nothing is changed.",
		Example: "  millrace split advise hntes-split\n  millrace split advise hntes-split --days 7 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if days < 1 || days > mostDays {
				return coded{fmt.Errorf("--days %d: write 1 to %d", days, mostDays), exitUsage}
			}
			a, err := advise(cmd, args[0], days, time.Now())
			if err != nil {
				return err
			}
			if wantJSON(cmd) {
				return printValue(cmd, a)
			}
			return a.print(cmd)
		},
	}
	cmd.Flags().IntVar(&days, "days", 3, "how many days of counters are read; the forecast needs more than one")
	jsonFlag(cmd)
	return cmd
}

const (
	mostDays = 14
	// adviseStep is between two samples, and about how far apart the flow store's points of a day are.
	adviseStep = time.Minute
	// stale is how old the last counters may be.
	stale = 10 * time.Minute
)

// advice is the answer for all ports, by router and port.
type advice struct {
	Policy string       `json:"policy"`
	Ports  []portAdvice `json:"ports"`
}

type portAdvice struct {
	Router string `json:"router"`
	Port   string `json:"port"`
	// Now and Should are beta's shares in percent.
	Now    int        `json:"now_percent"`
	Should int        `json:"should_percent"`
	Rule   split.Rule `json:"rule"`
	Demand float64    `json:"demand_percent"`
	Ahead  float64    `json:"forecast_percent"`
	Why    string     `json:"why"`
}

func advise(cmd *cobra.Command, policy string, days int, now time.Time) (*advice, error) {
	ctx := cmd.Context()
	client, server := apiClient(cmd)
	list, err := changeClient(cmd).List(ctx, connect.NewRequest(&pushv1.ListRequest{Limit: listed}))
	if err != nil {
		return nil, fmt.Errorf("read the splits in force: %w", err)
	}
	r, err := policyv1connect.NewPolicyServiceClient(client, server).Plan(ctx, connect.NewRequest(&policyv1.PlanRequest{
		Policy: policy, Splits: push.SplitsInForce(list.Msg.GetChanges(), policy),
	}))
	if err != nil {
		return nil, refusal(err)
	}
	of := r.Msg.GetSplit()
	if of == nil {
		return nil, coded{fmt.Errorf("policy %s has no split; docs/reference/policies.md has its fields", policy), exitUnmet}
	}
	law := split.Default()
	law.Min, law.Max = int(of.GetMin()), int(of.GetMax())
	out := &advice{Policy: policy}
	flows := flowv1connect.NewFlowStoreServiceClient(client, server)
	for _, plan := range r.Msg.GetPlans() {
		counters, err := countersOf(ctx, flows, plan.GetRouter(), days, now)
		if err != nil {
			return nil, fmt.Errorf("read the counters of %s: %w", plan.GetRouter(), err)
		}
		for _, port := range plan.GetPorts() {
			byQueue := counters[port.GetInterface()]
			samples := split.Samples(float64(port.GetSpeed()), byQueue[of.GetAlpha()], byQueue[of.GetBeta()], adviseStep, time.Time{})
			p := decided(law, shareOf(plan, port, of.GetBeta()), samples, now)
			p.Router, p.Port = plan.GetRouter(), port.GetInterface()
			out.Ports = append(out.Ports, p)
		}
	}
	return out, nil
}

// decided is what the law says at the end of the samples. The share was as it is now over all of them, as far as it
// knows.
func decided(law split.Law, share int, samples []split.Sample, now time.Time) portAdvice {
	s, d := split.State{Share: share}, split.Decision{Rule: split.Missing, Share: share, Why: "there are no counters of its queues"}
	for _, x := range samples {
		s, d = law.Decide(s, x)
	}
	if n := len(samples); n > 0 && now.Sub(samples[n-1].At) > stale {
		d = split.Decision{Rule: split.Missing, Share: share, Why: fmt.Sprintf("its last counters are of %s", samples[n-1].At.UTC().Format(time.RFC3339))}
	}
	return portAdvice{Now: share, Should: d.Share, Rule: d.Rule, Demand: d.Demand, Ahead: d.Ahead, Why: d.Why}
}

// shareOf is what beta is guaranteed on a port of a plan.
func shareOf(plan *policyv1.RouterPlan, port *policyv1.PortScheduling, beta string) int {
	if port.GetSplit() > 0 {
		return int(port.GetSplit())
	}
	for _, q := range plan.GetQueues() {
		if q.GetName() == beta {
			return int(q.GetWeight())
		}
	}
	return 0
}

// countersOf reads a router's counters by port and queue. A day is asked for at a time: a series has so many points,
// however long it is.
func countersOf(ctx context.Context, flows flowv1connect.FlowStoreServiceClient, router string, days int, now time.Time) (map[string]map[string]split.Counters, error) {
	out := map[string]map[string]split.Counters{}
	for d := days; d > 0; d-- {
		from := now.Add(-time.Duration(d) * 24 * time.Hour)
		r, err := flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
			Device: router, PathPrefix: portcounters.QueuePaths, From: timestamppb.New(from), To: timestamppb.New(from.Add(24 * time.Hour)),
		}))
		if err != nil {
			return nil, err
		}
		for _, series := range r.Msg.GetSeries() {
			counter, ok := portcounters.Parse(series.GetPath())
			queue, owned := counter.PolicyQueue()
			if !ok || !owned {
				continue
			}
			if out[counter.Port] == nil {
				out[counter.Port] = map[string]split.Counters{}
			}
			c := out[counter.Port][queue]
			into := map[portcounters.Leaf]*[]portcounters.Reading{
				portcounters.SentOctets: &c.Octets, portcounters.SentPackets: &c.Packets, portcounters.Dropped: &c.Drops,
			}[counter.Leaf]
			*into = append(*into, portcounters.Readings(series)...)
			out[counter.Port][queue] = c
		}
	}
	return out, nil
}

func (a *advice) print(cmd *cobra.Command) error {
	if len(a.Ports) == 0 {
		return coded{errors.New("no port has queues by this policy"), exitUnmet}
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ROUTER\tPORT\tBETA HAS\tSHOULD HAVE\tRULE\tWHY")
	var moves []string
	for _, p := range a.Ports {
		fmt.Fprintf(w, "%s\t%s\t%d %%\t%d %%\t%s\t%s\n", p.Router, p.Port, p.Now, p.Should, p.Rule, p.Why)
		if p.Should != p.Now {
			moves = append(moves, fmt.Sprintf("--split %s:%s=%d", p.Router, p.Port, p.Should))
		}
	}
	if len(moves) > 0 {
		fmt.Fprintf(w, "\nto request it: millrace change create %s --predict %s\n", a.Policy, strings.Join(moves, " "))
	}
	return w.Flush()
}
