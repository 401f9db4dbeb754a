package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// Between lists the pairs a policy names by hand, not yet mapped to routers. Their ids stay when the file is reordered.
func Between(p document.Policy) []Pair {
	var out []Pair
	for i, d := range p.Redirect {
		for _, b := range d.Between {
			sum := sha256.Sum256(fmt.Append(nil, b.Source, b.Destination))
			out = append(out, Pair{ID: "b-" + hex.EncodeToString(sum[:6]), Src: b.Source.Prefix, Dst: b.Destination.Prefix, Redirect: i})
		}
	}
	return out
}

// AlphaRedirect is the index of the first rule for alpha pairs, -1 if there is none; AlphaRule says which is a pair's.
func AlphaRedirect(p document.Policy) int {
	return slices.IndexFunc(p.Redirect, func(d document.Redirect) bool { return d.Pairs == document.SourceAlpha })
}

// Demands lists the LSPs the mapped pairs request, each once, sorted.
func Demands(p document.Policy, pairs []Pair) []Demand {
	seen := map[Demand]bool{}
	var out []Demand
	for _, pair := range pairs {
		if pair.Unmapped != "" || pair.Ingress == pair.Egress {
			continue
		}
		for _, d := range demandsOf(p, pair) {
			if !seen[d] {
				seen[d] = true
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b Demand) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
			cmp.Compare(a.LSP.MinBandwidth, b.LSP.MinBandwidth), cmp.Compare(fmt.Sprint(a.LSP.AvoidShortest), fmt.Sprint(b.LSP.AvoidShortest)),
			cmp.Compare(a.LSP.Paths, b.LSP.Paths), cmp.Compare(a.Bandwidth, b.Bandwidth), cmp.Compare(a.Via, b.Via))
	})
	return out
}

// demandsOf are what a pair requests under a rule: one computed path or set of paths, or each path by hand between its
// routers.
func demandsOf(policy document.Policy, p Pair) (out []Demand) {
	d := policy.Redirect[p.Redirect]
	if d.LSP != nil {
		one := Demand{From: p.Ingress, To: p.Egress, LSP: *d.LSP}
		if q, _ := policy.QueueAtLeast(d.Queue); d.LSP.Set() {
			one.Bandwidth = units.Rate(shares.SpeedFor(uint64(d.LSP.MinBandwidth), uint64(q.Weight)))
		}
		return []Demand{one}
	}
	for _, e := range d.LSPs {
		if e.Via[0] == p.Ingress && e.Via[len(e.Via)-1] == p.Egress {
			out = append(out, Demand{From: p.Ingress, To: p.Egress, Via: strings.Join(e.Via, " ")})
		}
	}
	return out
}

// onLSPs: the pairs of a rule leave the path that they are on.
func onLSPs(d document.Redirect) bool { return d.LSP != nil || d.LSPs != nil }

// RouterPairs lists the routers between which mapped pairs stay on the IGP's paths, each once, sorted.
func RouterPairs(p document.Policy, pairs []Pair) []RouterPair {
	seen := map[RouterPair]bool{}
	var out []RouterPair
	for _, pair := range pairs {
		r := RouterPair{pair.Ingress, pair.Egress}
		if !onLSPs(p.Redirect[pair.Redirect]) && pair.Unmapped == "" && pair.Ingress != pair.Egress && !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b RouterPair) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return out
}

// sortedPairs makes the order that of the prefixes; of two rules for one pair the first in the file decides. Of two
// pairs that both match a packet the narrower one decides, by its sequence (sequence.go).
func sortedPairs(pairs []Pair) []Pair {
	out := slices.Clone(pairs)
	slices.SortFunc(out, func(a, b Pair) int {
		return cmp.Or(
			a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.Redirect, b.Redirect),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Ingress, b.Ingress), cmp.Compare(a.Egress, b.Egress), cmp.Compare(a.Unmapped, b.Unmapped),
		)
	})
	return out
}

var unfit = regexp.MustCompile(`[^a-z0-9-]+`)

// LSPName distinguishes ends and path: another path is another LSP, so that the
// new one is up before the rules leave the old one.
func LSPName(d Demand, path Path) string {
	sum := sha256.Sum256(fmt.Append(nil, path.Segments))
	return fmt.Sprintf("te-lsp-%s-%s", endsText(d.From, d.To), hex.EncodeToString(sum[:3]))
}

// endsText is short enough for a name to have 64 characters at most, which is Junos' bound: before it comes "te-lsp-",
// behind it a hash of six digits and the number of a set.
func endsText(from, to string) string {
	const most = 46
	text := unfit.ReplaceAllString(strings.ToLower(from+"-"+to), "-")
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", from, to))
	hash := hex.EncodeToString(sum[:3])
	return text[:most-len(hash)-1] + "-" + hash
}
