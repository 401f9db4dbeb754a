package circuits

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
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
	_, err := divided(t, slices.Repeat([]int64{1}, int(n))) // whether the pairs have enough ports
	return err
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
	asked.ID = strings.Join(ids, "+") // which is no circuit's
	parts, no := b.admit.Spread(asked, ids)
	if no != nil {
		return nil, ofTerms(p, b.refusal(no, p.terms, asked))
	}
	bytes := make([]int64, len(parts))
	for i := range parts {
		bytes[i] = parts[i].Bytes
	}
	return divided(p.terms, bytes)
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
