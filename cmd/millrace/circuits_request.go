package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/restore"
)

// termsFlags are what a circuit is requested with.
type termsFlags struct {
	terms      circuitsv1.Terms
	mbit       int64
	gigabytes  int64
	start, end string
	protect    string
	manual     bool
	onFailure  string
	priority   int32
	setup      int32
	flags      *pflag.FlagSet
	pairs      []string
	ports      [2]circuitsv1.Port
	excess     string
	path       pathFlags
}

func (f *termsFlags) add(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.terms.Project, "project", "", "project that it counts against (required)")
	flags.Int64Var(&f.mbit, "rate", 0, "Mbit/s; with --volume the highest rate, 0 for any")
	flags.Int64Var(&f.gigabytes, "volume", 0, "so many GB (10^9 bytes) between --start and --end, instead of a rate over all of it")
	flags.StringVar(&f.start, "start", "", "RFC 3339 time such as 2026-11-23T22:00:00+01:00; none: now")
	flags.StringVar(&f.end, "end", "", "RFC 3339 time; none: until it is released")
	flags.StringVar(&f.protect, "protect", "", "link or node: book a disjoint backup with it")
	flags.StringVar(&f.onFailure, "on-failure", "restore", "restore or hold: look for another path when a link of its path is gone, or wait for the link")
	flags.Int32Var(&f.priority, "priority", restore.Last, "holding priority, 0 to 7, 0 is first: who may not displace it, and which circuits get another path first, where several lost theirs; none: --setup-priority")
	flags.Int32Var(&f.setup, "setup-priority", restore.Last, "0 to 7, not before --priority: where there is no room, circuits of a later priority are displaced; 7 displaces nobody")
	f.path.add(flags)
	flags.StringArrayVar(&f.pairs, "pair", nil, "traffic that is steered, SOURCE,DESTINATION[,PROTOCOL[,SOURCE_PORTS[,DESTINATION_PORTS]]] such as 192.0.2.0/24,198.51.100.0/24 or 192.0.2.5/32,198.51.100.9/32,tcp,any,5000-5100; may be given more than once")
	for i, end := range []string{"from", "to"} {
		flags.StringVar(&f.ports[i].Name, end+"-port", "", "Ethernet frames between two ports instead of packets between routers: the port at "+strings.ToUpper(end))
		flags.StringVar(&f.ports[i].Vlans, end+"-vlan", "", "VLAN at that port: 100, 1780-1790 or any for the lowest that is free; none: frames without a tag")
	}
	flags.BoolVar(&f.manual, "manual", false, "keep it off routers until `millrace circuits activate`")
	flags.BoolVar(&f.terms.AboveSoftCap, "above-soft-cap", false, "use what operators keep above circuits.share, up to circuits.hard_share: hold it (--hold), and let an operator commit it")
	flags.BoolVar(&f.terms.Scavenger, "scavenger", false, "a path and no guaranteed rate on it, instead of --rate: all that is sent is best effort, marked LE")
	flags.StringVar(&f.excess, "excess", "queue", "what is above the rate: queue, drop or best-effort")
	flags.StringVar(&f.terms.Description, "description", "", "for people")
}

// read makes terms of flags and the two routers.
func (f *termsFlags) read(args []string) (*circuitsv1.Terms, error) {
	t := &f.terms
	t.From, t.To = args[0], args[1]
	const most = 1 << 60
	if f.mbit < 0 || f.mbit > most/1_000_000 || f.gigabytes < 0 || f.gigabytes > most/1_000_000_000 {
		return nil, coded{errors.New("--rate and --volume: not below 0, and at most 2^60 bit/s or bytes"), exitUsage}
	}
	t.RateBitsPerSecond, t.VolumeBytes = f.mbit*1_000_000, f.gigabytes*1_000_000_000
	protections := map[string]circuitsv1.Protection{"": 0, "link": circuitsv1.Protection_PROTECTION_LINK_DISJOINT, "node": circuitsv1.Protection_PROTECTION_NODE_DISJOINT}
	if f.manual {
		t.Activation = circuitsv1.Activation_ACTIVATION_MANUAL
	}
	var known bool
	if t.Protection, known = protections[f.protect]; !known {
		return nil, coded{fmt.Errorf("--protect %s: link or node", f.protect), exitUsage}
	}
	if t.Excess, known = excesses[f.excess]; !known {
		return nil, coded{fmt.Errorf("--excess %s: queue, drop or best-effort", f.excess), exitUsage}
	}
	onFailure := map[string]circuitsv1.OnFailure{"restore": circuitsv1.OnFailure_ON_FAILURE_RESTORE, "hold": circuitsv1.OnFailure_ON_FAILURE_HOLD}
	if t.OnFailure, known = onFailure[f.onFailure]; !known {
		return nil, coded{fmt.Errorf("--on-failure %s: restore or hold", f.onFailure), exitUsage}
	}
	if f.flags.Changed("setup-priority") {
		t.SetupPriority = &f.setup
	}
	if f.flags.Changed("priority") || t.SetupPriority == nil {
		t.Priority = &f.priority
	}
	for _, pair := range f.pairs {
		p, err := readPair(pair)
		if err != nil {
			return nil, coded{err, exitUsage}
		}
		t.Pairs = append(t.Pairs, p)
	}
	for i, into := range []**circuitsv1.Port{&t.FromPort, &t.ToPort} {
		if f.ports[i].GetName() != "" || f.ports[i].GetVlans() != "" {
			*into = &f.ports[i]
		}
	}
	if err := errors.Join(f.path.into(t), readTime("start", f.start, &t.Start)); err != nil {
		return nil, err
	}
	return t, readTime("end", f.end, &t.End)
}

// excesses by what people write.
var excesses = map[string]circuitsv1.Excess{
	"queue": circuitsv1.Excess_EXCESS_UNSPECIFIED, "drop": circuitsv1.Excess_EXCESS_DROP, "best-effort": circuitsv1.Excess_EXCESS_BEST_EFFORT,
}

func circuitsQuoteCommand() *cobra.Command {
	var f termsFlags
	var several batchFlags
	var by string
	cmd := &cobra.Command{
		Use:     "quote FROM TO",
		Short:   "Check what a request would get, or why not and what would fit, without booking",
		Long:    "Check what a request would get, or why not and what would fit, without booking. Exit code 3: it does not fit.",
		Example: "  millrace circuits quote pe1 pe2 --project astro --rate 5000 --start 2026-11-23T22:00:00Z --end 2026-11-24T06:00:00Z\n  millrace circuits quote pe1 pe2 --project astro --volume 20000 --end 2026-11-24T06:00:00Z",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			terms, err := f.read(args)
			if err != nil {
				return err
			}
			batch, err := several.read()
			if err != nil {
				return err
			}
			if batch != nil {
				batch.Terms, batch.By, batch.DryRun = []*circuitsv1.Terms{terms}, by, true
				return requestBatch(cmd, batch)
			}
			r, err := circuitsClient(cmd).Quote(cmd.Context(), connect.NewRequest(&circuitsv1.QuoteRequest{Terms: terms, By: by}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				err = printJSON(cmd, r.Msg)
			} else if no := r.Msg.GetRefusal(); no == nil {
				printBooked(cmd.OutOrStdout(), r.Msg.GetSlots(), r.Msg.GetPath(), r.Msg.GetBackup())
				printHops(cmd.OutOrStdout(), "back", r.Msg.GetBack())
				printPorts(cmd.OutOrStdout(), terms, r.Msg.GetFromVlan(), r.Msg.GetToVlan())
				printDisplaced(cmd.OutOrStdout(), true, r.Msg.GetWouldDisplace())
			} else {
				printRefusal(cmd.OutOrStdout(), no)
			}
			if no := r.Msg.GetRefusal(); err == nil && no != nil {
				return coded{fmt.Errorf("it does not fit: %s", no.GetReason()), exitUnmet}
			}
			return err
		},
	}
	byFlag(cmd, &by)
	f.add(cmd.Flags())
	several.add(cmd.Flags())
	return cmd
}

func circuitsRequestCommand() *cobra.Command {
	var f termsFlags
	var several batchFlags
	req := &circuitsv1.RequestRequest{}
	var hold bool
	cmd := &cobra.Command{
		Use:   "request FROM TO",
		Short: "Book a circuit from one router to another",
		Long: "Book a circuit from one router to another; one in both directions is two circuits,\n" +
			"but between two ports a circuit has its rate in both.\n\n" +
			"Asked again with the same --request-id, as after a lost answer, it gives the circuit of the first time. Exit code 3: it\n" +
			"does not fit; what blocks it and what would fit is printed.",
		Example: "  millrace circuits request pe1 pe2 --project astro --rate 5000 --start 2026-11-23T22:00:00Z --end 2026-11-24T06:00:00Z\n  millrace circuits request pe1 pe2 --project astro --volume 20000 --end 2026-11-24T06:00:00Z --hold\n  millrace circuits request pe1 pe2 --project astro --rate 5000 --from-port eth3 --from-vlan 100 --to-port eth5 --to-vlan 1780-1790\n" +
			"  millrace circuits request pe1 pe2 --project astro --rate 5000 --start 2026-11-23T22:00:00+01:00 --end 2026-11-24T06:00:00+01:00 --repeat day --times 14 --time-zone Europe/Berlin\n" +
			"  millrace circuits request pe1 pe2 --project astro --volume 20000 --end 2026-11-24T06:00:00Z --paths 3 --pair 192.0.2.5/32,198.51.100.9/32,tcp,any,5000-5099",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			terms, err := f.read(args)
			if err != nil {
				return err
			}
			req.Terms, req.Commit = terms, !hold
			batch, err := several.read()
			if err != nil {
				return err
			}
			if batch != nil {
				batch.Terms, batch.By, batch.Commit, batch.RequestId = []*circuitsv1.Terms{terms}, req.GetBy(), !hold, req.GetRequestId()
				return requestBatch(cmd, batch)
			}
			if req.RequestId == "" {
				req.RequestId = uuid.NewString()
			}
			r, err := circuitsClient(cmd).Request(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				if mayBeBooked(err) {
					fmt.Fprintf(cmd.ErrOrStderr(), "it is unknown whether it was booked: ask again with --request-id %s\n", req.GetRequestId())
				}
				return circuitRefused(cmd, err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printCircuit(cmd.OutOrStdout(), r.Msg.GetCircuit())
		},
	}
	byFlag(cmd, &req.By)
	f.add(cmd.Flags())
	several.add(cmd.Flags())
	cmd.Flags().StringVar(&req.RequestId, "request-id", "", "name of this request; none: a new one")
	cmd.Flags().BoolVar(&hold, "hold", false, "only hold the capacity; commit it with `millrace circuits commit`")
	return cmd
}

// mayBeBooked reports whether a request may have been carried out although it failed.
func mayBeBooked(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeUnknown, connect.CodeCanceled, connect.CodeDeadlineExceeded, connect.CodeAborted, connect.CodeInternal:
		return true
	}
	return false
}

// circuitRefused prints why, and what would fit.
func circuitRefused(cmd *cobra.Command, err error) error {
	var c *connect.Error
	if errors.As(err, &c) {
		for _, d := range c.Details() {
			m, broken := d.Value()
			no, ok := m.(*circuitsv1.Refusal)
			switch {
			case broken != nil || !ok:
			case wantJSON(cmd):
				if err := printJSON(cmd, no); err != nil {
					return err
				}
			default:
				printRefusal(cmd.OutOrStdout(), no)
			}
		}
		if code := c.Code(); code == connect.CodeResourceExhausted || code == connect.CodePermissionDenied {
			return coded{plain(err), exitUnmet}
		}
	}
	return refusal(err)
}

func printRefusal(out io.Writer, no *circuitsv1.Refusal) {
	fmt.Fprintf(out, "%s: %s\n", no.GetCode(), no.GetReason())
	for _, b := range no.GetBlockers() {
		if b.GetCircuit() != "" {
			fmt.Fprintf(out, "  %s of port %s at %s is that of circuit %s from %s to %s\n", vlanName(b.GetVlan()), b.GetPort(), b.GetRouter(), b.GetCircuit(), clock(b.GetStart()), endClock(b.GetEnd()))
			continue
		}
		where := "link " + b.GetLink()
		if b.GetPort() != "" {
			where = fmt.Sprintf("port %s at %s", b.GetPort(), b.GetRouter())
		}
		if most := b.GetReservableBitsPerSecond(); most > 0 {
			where += fmt.Sprintf(", of which circuits may have %g Mbit/s,", mbit(most))
		}
		fmt.Fprintf(out, "  %s lacks %g Mbit/s from %s to %s", where, mbit(b.GetShortfallBitsPerSecond()), clock(b.GetStart()), endClock(b.GetEnd()))
		if ids := b.GetMaintenance(); len(ids) > 0 {
			fmt.Fprint(out, ", in maintenance ", strings.Join(ids, ", "))
		}
		fmt.Fprintln(out)
	}
	printRelaxations(out, no.GetRelaxations())
	for _, o := range no.GetOffers() {
		t := o.GetTerms()
		fmt.Fprintf(out, "  %s fits: %g Mbit/s", offerNames[o.GetKind()], mbit(t.GetRateBitsPerSecond()))
		if t.GetVolumeBytes() > 0 {
			fmt.Fprintf(out, " at most, %g GB", float64(t.GetVolumeBytes())/1e9)
		}
		fmt.Fprintf(out, " from %s to %s", clock(t.GetStart()), endClock(t.GetEnd()))
		if t.GetFromPort() != nil {
			fmt.Fprintf(out, ", VLANs %s and %s", cmp.Or(t.GetFromPort().GetVlans(), "none"), cmp.Or(t.GetToPort().GetVlans(), "none"))
		}
		printOfferedPath(out, o)
		fmt.Fprintln(out)
	}
}

func vlanName(vlan int32) string {
	if vlan == 0 {
		return "what has no tag"
	}
	return fmt.Sprintf("VLAN %d", vlan)
}

func printPorts(out io.Writer, t *circuitsv1.Terms, from, to int32) {
	if t.GetFromPort() != nil {
		fmt.Fprintf(out, "  frames between %s of port %s and %s of port %s\n", vlanName(from), t.GetFromPort().GetName(), vlanName(to), t.GetToPort().GetName())
	}
}

// offerNames are the kinds of offers for people.
var offerNames = map[string]string{
	"LATER": "later", "LESS_RATE": "a lower rate", "SLOWER": "a longer delay", "WITHOUT_BACKUP": "no backup", "AS_VOLUME": "as a volume",
	"LATER_DEADLINE": "a later deadline", "LESS_VOLUME": "a smaller volume", "OTHER_VLAN": "another VLAN",
	"MORE_HOPS": "more links", "MORE_SIDS": "more segments", "NOT_VIA": "fewer loose hops", "OTHER_GROUPS": "links of other groups",
	"ABOVE_SOFT_CAP": "above the soft cap, held until an operator commits it,",
}
