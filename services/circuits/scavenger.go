package circuits

import (
	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/restore"
)

// scavengerRate is what is booked for a circuit without a guaranteed rate: a path is looked for where this is free.
const scavengerRate = 1

// normal are terms with what a scavenger means: everything it sends is above its rate, and best effort.
func normal(t *circuitsv1.Terms) *circuitsv1.Terms {
	out := proto.CloneOf(t)
	if t.GetScavenger() {
		out.RateBitsPerSecond, out.Excess = scavengerRate, circuitsv1.Excess_EXCESS_BEST_EFFORT
	}
	return out
}

// checkScavenger refuses what a circuit without a guaranteed rate cannot have.
func checkScavenger(t *circuitsv1.Terms) error {
	switch excess := t.GetExcess(); {
	case !t.GetScavenger():
		return nil
	case t.GetRateBitsPerSecond() != 0 && t.GetRateBitsPerSecond() != scavengerRate: // as an offer has it
		return wrong("rate_bits_per_second", "a scavenger has no rate")
	case t.GetVolumeBytes() != 0:
		return wrong("volume_bytes", "a volume needs a rate, and a scavenger has none")
	case between(t):
		return wrong("scavenger", "what a circuit between ports sends above its rate is not distinguished from the rest")
	case excess != circuitsv1.Excess_EXCESS_UNSPECIFIED && excess != circuitsv1.Excess_EXCESS_BEST_EFFORT:
		return wrong("excess", "what a scavenger sends is best effort")
	case setupOf(t) < restore.Last:
		return wrong("setup_priority", "a scavenger displaces nobody")
	}
	return nil
}
