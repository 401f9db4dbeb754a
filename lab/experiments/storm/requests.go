package storm

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scenario"
)

// horizon is the time in which all circuits lie, seconds from the start.
const horizon = 3600

// request is one that a client makes until it is answered.
type request struct {
	key  string
	body map[string]any
	// twins are the clients that make it at the same time.
	twins int
	// release is set where the client gives its circuit up at once.
	release bool
}

// requests are made from the scenario, the same ones for the same numbers: between any two routers, of a tenth to half
// of what circuits may use of the widest link, for 5 to 50 minutes of one hour. One of ten is of a volume by a
// deadline, one of ten protected, one of ten made by two clients at once, and one of seven given up when granted.
func requests(s *scenario.Scenario, start time.Time) []request {
	r := rand.New(rand.NewPCG(uint64(s.Storm.Requests), uint64(s.Storm.Clients)))
	var widest int64
	for _, l := range s.Links {
		widest = max(widest, int64(l.Rate)/2)
	}
	var out []request
	for n := range s.Storm.Requests {
		from := r.IntN(len(s.Routers))
		to := (from + 1 + r.IntN(len(s.Routers)-1)) % len(s.Routers)
		begin := r.Int64N(horizon * 3 / 4)
		end := begin + 300 + r.Int64N(min(2700, horizon-begin-300)+1)
		rate := widest / 10 * (1 + r.Int64N(5))
		at := func(second int64) string {
			return start.Add(time.Duration(second) * time.Second).UTC().Format(time.RFC3339)
		}
		terms := map[string]any{"project": "storm", "from": s.Routers[from].Name, "to": s.Routers[to].Name, "start": at(begin), "end": at(end)}
		kind := r.IntN(10)
		switch kind {
		case 0:
			terms["volume_bytes"] = fmt.Sprint(rate / 8 * (end - begin) / 2)
		default:
			terms["rate_bits_per_second"] = fmt.Sprint(rate)
		}
		if kind == 1 {
			terms["protection"] = "PROTECTION_LINK_DISJOINT"
		}
		q := request{key: fmt.Sprintf("r%d", n), twins: 1, release: r.IntN(7) == 0, body: map[string]any{"by": "crowd", "commit": true, "terms": terms}}
		if r.IntN(10) == 0 {
			q.twins = 2
		}
		out = append(out, q)
	}
	return out
}
