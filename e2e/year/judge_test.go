package year

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/e2e/plane"
)

// verdict is a claim, and what was found.
type verdict struct {
	claim, found string
	holds        bool
}

// judgedFrom is how many days a run has at least whose growth is judged: the third quarter begins after what is kept
// by number or time has been filled.
const judgedFrom = 2 * keepRecords

// verdicts are all claims.
func (w *world) verdicts() []verdict {
	c := w.count
	changed := 0
	for n := range w.inForce {
		if w.changes(n) {
			changed++
		}
	}
	stored := 1
	for n := restartEvery; n < *days; n += restartEvery {
		stored++
	}
	storeTrue := c.kept == stored && !w.blamed("flows of the 90 days")
	out := []verdict{
		{"every nightly run is done, and refuses no exporter", fmt.Sprintf("%d of %d, %d refusals", c.done, *days, c.refused), c.done == *days && c.refused == 0},
		{"each nightly run by which pairs change requests one change set, which is verified", fmt.Sprintf("%d such, %d change sets, %d verified, %d empty, %d failed, %d that no nightly run of the day requested",
			changed, c.asked, c.verified, c.empty, c.failed, c.needless), c.asked == changed && c.verified+c.empty == changed && c.needless == 0},
		{"the running config of the routers is what the records say", fmt.Sprintf("compared %d times, %d false", w.book.Looked, len(w.book.Wrong)), w.book.Looked == 2**days && len(w.book.Wrong) == 0},
		{"after each nightly run the pairs in force are those of the truth", fmt.Sprintf("%d of %d; %d pairs came, %d aged out", c.pairsTrue, *days, c.added, c.agedOut), c.pairsTrue == *days},
		{"every interval with an alpha flow is found", fmt.Sprintf("%d of %d", c.found, c.alpha), c.found == c.alpha && c.alpha > 0},
		{"the router at which transfers enter has rules of the pairs of IPv4 in force and of no others", fmt.Sprintf("%d of %d times", c.rulesTrue, c.rulesSeen), c.rulesTrue == c.rulesSeen && c.rulesSeen > 0},
		{"the store has the flows of 90 days, each once, and none that is older", fmt.Sprintf("looked at %d times; %d flows in the year", c.kept, c.flows), storeTrue},
	}
	if *days >= judgedFrom {
		out = append(out, w.growth()...)
	}
	return out
}

// changes reports whether the truth changes on a day.
func (w *world) changes(n int) bool {
	if n == 0 {
		return len(w.inForce[0]) > 0
	}
	if len(w.inForce[n]) != len(w.inForce[n-1]) {
		return true
	}
	for p := range w.inForce[n] {
		if _, was := w.inForce[n-1][p]; !was {
			return true
		}
	}
	return false
}

// The bounds of growth.
const (
	// leak: what one nightly run in ten leaves behind of one goroutine or descriptor grows by a tenth; half of it
	// separates that from nothing.
	leak = 0.05
	// yearOfMemory is how much all processes together may grow in a year: a quarter of the smallest host's memory.
	yearOfMemory = 1 << 30
	// flat is how much the least reading of the last quarter may be above that of the third. The least is what is
	// left where old records were just deleted and replaced parts are gone, which is done by the machine's clock: the
	// largest says how many simulated days fit into a minute. Without any deletion the quarters differ by two fifths
	// at least.
	flat = 1.25
	// fragmented is how much the file of etcd may be above what is in use at most: bbolt's file never shrinks, and a
	// value that finds no run of free pages beside each other takes new ones.
	fragmented = 2
	// warmUp days are left out of every life of a process.
	warmUp = 20
)

func (w *world) growth() []verdict {
	last := w.weeks[len(w.weeks)-1]
	out := []verdict{{"change sets and plans in etcd are those kept by number and those in force", fmt.Sprintf("%d of %d weeks; at the end %d change sets, at most %d, and %d plans, at most %d",
		w.count.collected, len(w.weeks), last.keys[changeSets].Keys, w.mostRecords(), last.keys[plans].Keys, w.mostPlans()), w.count.collected == len(w.weeks)}}
	for _, s := range []struct {
		what string
		of   func(sample) float64
		unit string
	}{
		{"keys in etcd", func(s sample) float64 { return float64(s.all()) }, ""},
		{"octets in use in etcd", func(s sample) float64 { return mib(s.inUse) }, " MiB"},
		{"the disk of the store", func(s sample) float64 { return mib(s.store) }, " MiB"},
	} {
		third, fourth := w.least(0.5, 0.75, s.of), w.least(0.75, 1, s.of)
		out = append(out, verdict{s.what + ": no growth in the second half", fmt.Sprintf("at least %.3g%s in the third quarter, %.3g%s in the fourth", third, s.unit, fourth, s.unit), fourth <= flat*third})
	}
	file, inUse := w.most(func(s sample) float64 { return mib(s.file) }), w.most(func(s sample) float64 { return mib(s.inUse) })
	out = append(out, verdict{"the file of etcd is less than twice what was in use at most", fmt.Sprintf("%.3g MiB, and %.3g MiB in use", file, inUse), file < fragmented*inUse})
	for _, what := range []string{plane.Goroutines, plane.Descriptors} {
		worst, all := plane.Line{}, true
		who := ""
		for _, service := range services {
			l := w.line(service, what, 0)
			all = all && l.Lives > 0 && l.Slope-2*l.Sigma <= leak
			if who == "" || l.Slope > worst.Slope {
				worst, who = l, service
			}
		}
		out = append(out, verdict{what + " of no process grow", fmt.Sprintf("%s most, by %.3f ± %.3f a day", who, worst.Slope, worst.Sigma), all})
	}
	var sum float64
	for _, service := range services {
		sum += w.line(service, plane.Resident, *days/2).Slope
	}
	return append(out, verdict{"memory of all processes grows by less than 1 GiB in a year, by the second half", fmt.Sprintf("%.3f MiB a day, %.0f MiB a year", sum/(1<<20), sum*365/(1<<20)),
		sum*365 <= yearOfMemory})
}

// least is the least reading of a part of the year.
func (w *world) least(from, to float64, of func(sample) float64) float64 {
	least := math.Inf(1)
	for _, s := range w.weeks {
		if at := float64(s.day) / float64(*days); at > from && at <= to {
			least = min(least, of(s))
		}
	}
	return least
}

// most is the largest reading of the year.
func (w *world) most(of func(sample) float64) (most float64) {
	for _, s := range w.weeks {
		most = max(most, of(s))
	}
	return most
}

// line is fitted to the readings after a day, without the first days of each life.
func (w *world) line(service, what string, after int) plane.Line {
	var lives []plane.Life
	for _, l := range w.meters.Lives(plane.Series{Process: service, What: what}) {
		var rest plane.Life
		for _, r := range l.Readings {
			if r.At >= l.Readings[0].At+warmUp && r.At > float64(after) {
				rest.Readings = append(rest.Readings, r)
			}
		}
		if len(rest.Readings) > 0 {
			lives = append(lives, rest)
		}
	}
	return plane.Fit(lives, 0)
}

// blamed reports whether something of this kind was not as it should be.
func (w *world) blamed(kind string) bool {
	return slices.ContainsFunc(w.wrong, func(text string) bool { return strings.Contains(text, kind) })
}
