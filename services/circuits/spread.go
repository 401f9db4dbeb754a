package circuits

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/traffic"
	"github.com/millrace/millrace/services/policy/document"
)

// checkSpread refuses a spread that means nothing, whatever is booked.
func checkSpread(ask *circuitsv1.RequestAllRequest) error {
	n := ask.GetMaxPaths()
	if n < 0 || n > admit.MaxSpread {
		return wrong("max_paths", "%d are none of 0 to %d", n, admit.MaxSpread)
	}
	if n < 2 {
		return nil
	}
	t := ask.GetTerms()[0]
	switch {
	case len(ask.GetTerms()) > 1 || ask.GetRepeat() != nil:
		return wrong("max_paths", "one volume is spread over several paths, alone and in one window")
	case t.GetVolumeBytes() == 0:
		return ofTerms(part{}, wrong("volume_bytes", "only a volume is spread over several paths"))
	case between(t):
		return ofTerms(part{}, wrong("from_port", "what is between two ports is not spread over several paths: frames of a flow have one"))
	}
	_, err := divided(t, []int64{1, 1}) // whether there are ports at all
	return err
}

// most is over how many circuits a volume is spread at the most: each has ports of each pair.
func most(t *circuitsv1.Terms, paths int) int {
	for _, p := range t.GetPairs() {
		if m, err := traffic.Read(p); err == nil { // checkTerms has read it
			paths = min(paths, m.Ports())
		}
	}
	return paths
}

// spread are the circuits that carry a volume together.
func (b *book) spread(ids []string, p part, now time.Time) ([]part, error) {
	if err := b.known(); err != nil {
		return nil, err
	}
	asked, err := b.request("", p.terms, now)
	if err != nil {
		return nil, ofTerms(p, err)
	}
	ids = ids[:most(p.terms, len(ids))]
	asked.ID = strings.Join(ids, "+") // which is no circuit's
	parts, no := b.admit.Spread(asked, ids)
	if no != nil {
		err := b.refusedSpread(no, p.terms, asked, ids)
		if no.Field == admit.MorePaths { // which is no field of the terms
			return nil, err
		}
		return nil, ofTerms(p, err)
	}
	bytes := make([]int64, len(parts))
	for i := range parts {
		bytes[i] = parts[i].Bytes
	}
	return divided(p.terms, bytes)
}

// refusedSpread is a refusal of a volume over several paths. What is in the way is beside the parts, which are no
// longer in the book, so maintenance that leaves the volume its highest rate counts as well.
func (b *book) refusedSpread(no *admit.Refusal, t *circuitsv1.Terms, asked admit.Request, ids []string) error {
	anyRate := asked
	anyRate.Rate = 0
	out := b.refusalOf(no, t, anyRate)
	asked.Cap = calendar.Hard
	if no.Code == admit.Capacity && !t.GetAboveSoftCap() && b.caps().hard != b.caps().soft && b.admit.Spreads(asked, ids) {
		terms := proto.CloneOf(t)
		terms.AboveSoftCap = true
		out.Offers = append(out.Offers, &circuitsv1.Offer{Kind: aboveSoftCap, Terms: terms})
	}
	return refused{out}
}

// divided are terms of circuits that carry so many bytes each, and of the flows those of a part of the ports.
func divided(t *circuitsv1.Terms, bytes []int64) ([]part, error) {
	out := make([]part, len(bytes))
	for i := range out {
		out[i].terms = proto.CloneOf(t)
		out[i].terms.VolumeBytes = bytes[i]
	}
	if len(bytes) == 1 {
		return out, nil
	}
	for k, p := range t.GetPairs() {
		m, err := traffic.Read(p)
		if err != nil {
			return nil, err // checkTerms has read it
		}
		matches, err := m.Divide(bytes)
		if err != nil {
			return nil, ofTerms(part{}, wrong("pairs", "number %d: %s", k+1, err))
		}
		for i, m := range matches {
			pair := out[i].terms.GetPairs()[k]
			pair.SourcePorts, pair.DestinationPorts = portsText(m.SrcPort), portsText(m.DstPort)
		}
	}
	return out, nil
}

// portsText is empty for any port.
func portsText(r *document.PortRange) string {
	if r == nil {
		return ""
	}
	return r.String()
}
