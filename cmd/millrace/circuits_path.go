package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// pathFlags are what a circuit wants of its path.
type pathFlags struct {
	terms  circuitsv1.Terms
	metric string
	delay  time.Duration
	// riskGroups are 32 bits wide (RFC 4203); flags have no such list.
	riskGroups []uint
}

func (f *pathFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.metric, "metric", "igp", "igp, te, delay or hops: what the path is the best by")
	flags.DurationVar(&f.delay, "max-delay", 0, "most delay of the path, and of the backup, such as 12ms; 0: any")
	flags.Int32Var(&f.terms.MaxHops, "max-hops", 0, "most links of the path, and of the backup; 0: any")
	flags.Int32Var(&f.terms.MaxSids, "max-sids", 0, "longest segment list that may be needed to pin the path, and the backup (maximum SID depth); 0: any")
	flags.StringSliceVar(&f.terms.Via, "via", nil, "router that the path passes; may be given more than once, in order")
	flags.Int32SliceVar(&f.terms.IncludeAny, "include-any", nil, "administrative groups, 0 to 63: links with at least one of them")
	flags.Int32SliceVar(&f.terms.IncludeAll, "include-all", nil, "administrative groups: links with all of them")
	flags.Int32SliceVar(&f.terms.Exclude, "exclude", nil, "administrative groups: links with none of them")
	flags.UintSliceVar(&f.riskGroups, "exclude-risk-group", nil, "shared risk link group of which to use no link; may be given more than once")
	flags.StringSliceVar(&f.terms.WithoutLinks, "without-link", nil, "id of a link not to use; may be given more than once")
	flags.StringSliceVar(&f.terms.WithoutRouters, "without-router", nil, "router not to use; may be given more than once")
	flags.StringSliceVar(&f.terms.ApartFrom, "apart-from", nil, "circuit with which to share no link; may be given more than once")
}

// metrics by what people write.
var metrics = map[string]circuitsv1.Metric{
	"igp": circuitsv1.Metric_METRIC_UNSPECIFIED, "te": circuitsv1.Metric_METRIC_TE, "delay": circuitsv1.Metric_METRIC_DELAY, "hops": circuitsv1.Metric_METRIC_HOPS,
}

// into puts them into terms.
func (f *pathFlags) into(t *circuitsv1.Terms) error {
	metric, known := metrics[f.metric]
	switch {
	case !known:
		return coded{fmt.Errorf("--metric %s: igp, te, delay or hops", f.metric), exitUsage}
	case f.delay < 0 || f.delay%time.Microsecond != 0:
		return coded{errors.New("--max-delay: whole microseconds, not below 0"), exitUsage}
	}
	t.ExcludeRiskGroups = nil
	for _, group := range f.riskGroups {
		if group > math.MaxUint32 {
			return coded{fmt.Errorf("--exclude-risk-group %d: a number of 32 bits", group), exitUsage}
		}
		t.ExcludeRiskGroups = append(t.ExcludeRiskGroups, uint32(group))
	}
	is := &f.terms
	t.Metric, t.MaxDelayMicroseconds, t.Via = metric, f.delay.Microseconds(), is.GetVia()
	t.MaxHops, t.MaxSids = is.GetMaxHops(), is.GetMaxSids()
	t.IncludeAny, t.IncludeAll, t.Exclude = is.GetIncludeAny(), is.GetIncludeAll(), is.GetExclude()
	t.WithoutLinks, t.WithoutRouters, t.ApartFrom = is.GetWithoutLinks(), is.GetWithoutRouters(), is.GetApartFrom()
	return nil
}

// pathChange is what is to change of the path of a circuit.
type pathChange struct {
	flags   pathFlags
	anyPath bool
	// said knows which of the flags were given.
	said *pflag.FlagSet
}

func (w *pathChange) add(flags *pflag.FlagSet) {
	w.said = pflag.NewFlagSet("", pflag.ContinueOnError)
	w.flags.add(w.said)
	flags.AddFlagSet(w.said)
	flags.BoolVar(&w.anyPath, "any-path", false, "give up all that it wants of its path, but for what is said beside it")
}

// any reports whether anything of the path is to change.
func (w *pathChange) any() bool {
	changes := w.anyPath
	w.said.VisitAll(func(f *pflag.Flag) { changes = changes || f.Changed })
	return changes
}

// of is what a circuit with these terms is to want of its path; nil where that does not change.
func (w *pathChange) of(t *circuitsv1.Terms) (*circuitsv1.PathTerms, error) {
	if !w.any() {
		return nil, nil
	}
	is, said := proto.CloneOf(t), &circuitsv1.Terms{}
	if w.anyPath {
		is = &circuitsv1.Terms{}
	}
	if err := w.flags.into(said); err != nil {
		return nil, err
	}
	pick := func(flag string) *circuitsv1.Terms {
		if w.said.Lookup(flag).Changed {
			return said
		}
		return is
	}
	return &circuitsv1.PathTerms{
		Metric: pick("metric").GetMetric(), MaxDelayMicroseconds: pick("max-delay").GetMaxDelayMicroseconds(), MaxHops: pick("max-hops").GetMaxHops(),
		Via: pick("via").GetVia(), IncludeAny: pick("include-any").GetIncludeAny(), IncludeAll: pick("include-all").GetIncludeAll(),
		Exclude: pick("exclude").GetExclude(), WithoutLinks: pick("without-link").GetWithoutLinks(),
		WithoutRouters: pick("without-router").GetWithoutRouters(), ApartFrom: pick("apart-from").GetApartFrom(),
		MaxSids: pick("max-sids").GetMaxSids(), ExcludeRiskGroups: pick("exclude-risk-group").GetExcludeRiskGroups(),
	}, nil
}

// printRelaxations says what would make a path.
func printRelaxations(out io.Writer, all []*circuitsv1.Relaxation) {
	for _, x := range all {
		fmt.Fprintf(out, "  would make a path: %s\n", relaxationText(x))
	}
}

func relaxationText(x *circuitsv1.Relaxation) string {
	links, routers := strings.Join(x.GetLinks(), ", "), strings.Join(x.GetRouters(), ", ")
	switch x.GetField() {
	case "rate_bits_per_second":
		return fmt.Sprintf("%g Mbit/s less, which is free on %s", mbit(x.GetBy()), links)
	case "max_delay_microseconds":
		if x.GetBy() == 0 {
			return "if the delay of " + links + " were known"
		}
		return fmt.Sprintf("%d µs more", x.GetBy())
	case "max_hops":
		return fmt.Sprintf("links: %d more", x.GetBy())
	case "max_sids":
		if x.GetBy() == 0 {
			return "if its routers had SIDs that pin it"
		}
		return fmt.Sprintf("segments: %d more", x.GetBy())
	case "affinities":
		return "whatever the groups of " + links
	case "via":
		return "not via " + routers
	case "exclude_risk_groups":
		return fmt.Sprintf("over links of risk group %s", numbers(x.GetRiskGroups()))
	}
	return fmt.Sprintf("%s allowed (%s)", cmp.Or(links, routers), x.GetField())
}

// printOfferedPath says what an offer changes of the path.
func printOfferedPath(out io.Writer, o *circuitsv1.Offer) {
	t := o.GetTerms()
	switch o.GetKind() {
	case "MORE_HOPS":
		fmt.Fprintf(out, ", %d links at most", t.GetMaxHops())
	case "MORE_SIDS":
		fmt.Fprintf(out, ", %d segments at most", t.GetMaxSids())
	case "NOT_VIA":
		fmt.Fprintf(out, ", via %s", cmp.Or(strings.Join(t.GetVia(), ", "), "any"))
	case "OTHER_GROUPS":
		fmt.Fprintf(out, ", groups: any of %d, all of %d, none of %d", t.GetIncludeAny(), t.GetIncludeAll(), t.GetExclude())
	}
}

// numbers are some between commas.
func numbers(all []uint32) string {
	words := make([]string, 0, len(all))
	for _, n := range all {
		words = append(words, strconv.FormatUint(uint64(n), 10))
	}
	return strings.Join(words, ", ")
}
