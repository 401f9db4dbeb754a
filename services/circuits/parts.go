package circuits

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // zones of windows that are repeated, also where the machine lacks them

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/repeat"
)

// part is one circuit of a batch.
type part struct {
	terms *circuitsv1.Terms
	// of is the index of its terms in the request, window what a refusal says of its window, where there are several.
	of     int
	window string
}

// maxParts is how many circuits one transaction books. It is bounded by its size as well.
const maxParts = repeat.Most

// periods in days.
var periods = map[circuitsv1.Every]int{circuitsv1.Every_EVERY_DAY: 1, circuitsv1.Every_EVERY_WEEK: 7}

// parts are the circuits of a batch, and an id for each; of a volume that is spread over several, it is one part, with
// an id for each circuit that there may be. Who may not book for the project is refused.
func (c *Component) parts(ask *circuitsv1.RequestAllRequest) (out []part, ids []string, err error) {
	if err := c.mayRequestAll(ask); err != nil {
		return nil, nil, err
	}
	if out, err = repeated(ask.GetTerms(), ask.GetRepeat()); err != nil {
		return nil, nil, err
	}
	ids = make([]string, max(len(out), int(ask.GetMaxPaths())))
	for i := range ids {
		if ids[i], err = newID(); err != nil {
			return nil, nil, err
		}
	}
	return out, ids, nil
}

// repeated are terms in all of their windows, window by window.
func repeated(all []*circuitsv1.Terms, r *circuitsv1.Repeat) (out []part, err error) {
	if r == nil {
		for i, t := range all {
			out = append(out, part{terms: t, of: i})
		}
		return out, nil
	}
	days, times := periods[r.GetEvery()], int(r.GetTimes())
	zone, err := time.LoadLocation(r.GetTimeZone())
	switch {
	case days == 0:
		return nil, wrong("repeat.every", "EVERY_DAY or EVERY_WEEK")
	case err != nil || r.GetTimeZone() == "Local": // whose that is, the client does not know
		return nil, wrong("repeat.time_zone", "%.100q is no name of the IANA time zone database, such as Europe/Berlin", r.GetTimeZone())
	case times > maxParts || times*len(all) > maxParts:
		return nil, wrong("repeat.times", "a request has at most %d circuits", maxParts)
	}
	out = make([]part, max(times, 0)*len(all))
	for i, t := range all {
		windows, err := windowsOf(t, days, times, zone)
		if err != nil {
			return nil, ofTerms(part{of: i}, err)
		}
		for k, w := range windows {
			terms := proto.CloneOf(t)
			terms.Start, terms.End = timestamppb.New(w.Start), timestamppb.New(w.End)
			out[k*len(all)+i] = part{terms: terms, of: i, window: fmt.Sprintf(", window %d of %d from %s", k+1, times, w.Start.In(zone).Format(time.RFC3339))}
		}
	}
	return out, nil
}

func windowsOf(t *circuitsv1.Terms, days, times int, zone *time.Location) ([]repeat.Window, error) {
	if !t.GetStart().IsValid() || !t.GetEnd().IsValid() {
		return nil, wrong("start", "a window that is repeated has a start and an end")
	}
	windows, err := repeat.Windows(repeat.Window{Start: t.GetStart().AsTime(), End: t.GetEnd().AsTime()}, days, times, zone)
	switch {
	case errors.Is(err, repeat.ErrTimes):
		return nil, wrong("repeat.times", "%s", err)
	case err != nil:
		return nil, wrong("end", "%s", err)
	}
	return windows, nil
}
