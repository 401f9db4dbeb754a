package follow

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/portcounters"
	"github.com/millrace/millrace/internal/split"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts")

const (
	line = 10e9
	step = 30 * time.Second
)

// world is a port with its counters, change sets that come into force at the next step, and the follower.
type world struct {
	now         time.Time
	mode        Mode
	alpha, beta float64      // offered, bit/s
	counted     [2][3]uint64 // octets, packets, drops
	readings    [2]split.Counters
	silent      bool // no telemetry arrives
	changes     []Change
	fails       bool // change sets fail
	frozen      string
	f           Follower
	out         strings.Builder
	last        string
}

// packet is in bits, of every packet.
const packet = 10_000

// send lets a step pass: beta has what it is guaranteed and what alpha leaves, and alpha, which is TCP, the rest.
func (w *world) send(share int) {
	w.now = w.now.Add(step)
	room, offered := line*step.Seconds(), w.beta*step.Seconds()
	b := min(offered, max(room*float64(share)/100, room-w.alpha*step.Seconds()))
	for q, sent := range []float64{min(w.alpha*step.Seconds(), room-b), b} {
		w.counted[q][0] += uint64(sent / 8)
		w.counted[q][1] += uint64(sent / packet)
	}
	w.counted[1][2] += uint64((offered - b) / packet)
	if w.silent {
		return
	}
	for q, counted := range w.counted {
		c := &w.readings[q]
		for k, list := range []*[]portcounters.Reading{&c.Octets, &c.Packets, &c.Drops} {
			*list = append(*list, portcounters.Reading{At: w.now, Value: counted[k]})
			*list = slices.DeleteFunc(*list, func(r portcounters.Reading) bool { return r.At.Before(w.f.Newest.At.Add(-split.Steady)) })
		}
	}
}

// pass goes through so much time, and notes when what is said changes.
func (w *world) pass(long time.Duration) {
	for end := w.now.Add(long); w.now.Before(end); {
		for i := range w.changes {
			if c := &w.changes[i]; c.Outcome == Running {
				if c.Outcome, c.Forced = InForce, w.now; w.fails {
					c.Outcome, c.Forced, c.Ended, c.Note = Failed, time.Time{}, w.now, "er does not answer"
				}
				w.note("%s is %s", c.ID, c.Outcome)
			}
		}
		past := manners.PastOf(w.changes, ge1, 5, w.now)
		w.send(past.Share)
		in := Input{
			Now: w.now, Mode: w.mode, Past: manners.PastOf(w.changes, ge1, 5, w.now), Stale: 5 * time.Minute, Frozen: w.frozen,
			Samples: split.Samples(line, w.readings[0], w.readings[1], step, 5*time.Minute, w.f.Newest.At),
		}
		var v Verdict
		w.f, v = w.f.Next(split.Default(), in)
		if said := fmt.Sprintf("%s %d to %d %%", v.Rule, v.Share, v.Should); said != w.last || v.Request {
			w.last = said
			w.note("%s: %s", said, v.Why)
		}
		if v.Request {
			w.request(v.Should)
		}
	}
}

func (w *world) request(share int) {
	c := Change{ID: fmt.Sprintf("c-%d", len(w.changes)+1), Ours: true, Author: "split", Created: w.now, Outcome: Running, Splits: map[Port]int{ge1: share}}
	if w.mode == Propose {
		c.Outcome = Waiting
	}
	w.changes = append(w.changes, c)
	w.note("request %s: %d %%", c.ID, share)
}

func (w *world) note(format string, args ...any) {
	fmt.Fprintf(&w.out, "%s  %s\n", w.now.Sub(noon), fmt.Sprintf(format, args...))
}

func (w *world) newest() *Change { return &w.changes[len(w.changes)-1] }

// TestTranscripts plays a story for each file of testdata, which has what was said and done.
func TestTranscripts(t *testing.T) {
	for name, story := range map[string]func(*world){
		"apply: a step and back": func(w *world) {
			w.pass(2 * time.Hour)
			w.note("beta offers 3 Gbit/s")
			w.beta = 3e9
			w.pass(3 * time.Hour)
			w.note("beta offers 0.2 Gbit/s again")
			w.beta = 0.2e9
			w.pass(3 * time.Hour)
		},
		"propose: nobody answers, then somebody does": func(w *world) {
			w.mode, w.beta = Propose, 3e9
			w.pass(5 * time.Hour)
			w.note("bob approves %s", w.newest().ID)
			w.newest().Outcome = Running
			w.pass(time.Hour)
		},
		"off: it says what it would do": func(w *world) {
			w.mode, w.beta = Off, 3e9
			w.pass(time.Hour)
		},
		"telemetry stops, and comes back": func(w *world) {
			w.pass(2 * time.Hour)
			w.note("telemetry stops, and beta offers 3 Gbit/s")
			w.silent, w.beta = true, 3e9
			w.pass(time.Hour)
			w.note("telemetry comes back")
			w.silent = false
			w.pass(30 * time.Minute)
		},
		"a router restarts, and its counters begin at 0": func(w *world) {
			w.beta = 2e9
			w.pass(2 * time.Hour)
			w.note("it restarts")
			w.counted = [2][3]uint64{}
			w.pass(2 * time.Hour)
		},
		"counters of 32 bits wrap every few seconds": func(w *world) {
			w.beta = 2e9
			w.pass(time.Hour)
			w.note("from now on counters have 32 bits")
			for range 240 {
				for q := range w.counted {
					w.counted[q][0] %= 1 << 32
				}
				w.pass(step)
			}
		},
		"the port goes away, and comes back as a new one": func(w *world) {
			w.beta = 3e9
			w.pass(time.Hour)
			w.note("it goes away")
			w.f, w.readings = Follower{}, [2]split.Counters{}
			w.now = w.now.Add(2 * time.Hour)
			w.note("it comes back")
			w.pass(3 * time.Hour)
		},
		"change sets fail": func(w *world) {
			w.fails, w.beta = true, 3e9
			w.pass(12 * time.Hour)
			w.note("they succeed")
			w.fails = false
			w.pass(6 * time.Hour)
		},
		"a person rolls it back, and is left alone for a day": func(w *world) {
			w.beta = 3e9
			w.pass(time.Hour)
			w.note("ann rolls back %s", w.newest().ID)
			c := w.newest()
			c.Outcome, c.Ended, c.By = Undone, w.now, "ann"
			w.pass(25 * time.Hour)
		},
		"a person gives it another share, and is left alone for a day": func(w *world) {
			w.beta = 3e9
			w.pass(time.Hour)
			w.note("bob gives it 20 %%")
			w.changes = append(w.changes, Change{ID: "bobs", Author: "bob", Created: w.now, Forced: w.now, Outcome: InForce, Splits: map[Port]int{ge1: 20}})
			w.pass(25 * time.Hour)
		},
		"the router is frozen": func(w *world) {
			w.frozen, w.beta = "ann froze wr: a card is replaced", 3e9
			w.pass(time.Hour)
			w.note("it is not any more")
			w.frozen = ""
			w.pass(30 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{now: noon, mode: Apply, alpha: line, beta: 0.2e9}
			story(w)
			file := filepath.Join("testdata", strings.NewReplacer(" ", "-", ":", "", ",", "").Replace(name)+".txt")
			if *rewrite {
				if err := os.WriteFile(file, []byte(w.out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w.out.String(), string(want)); diff != "" {
				t.Errorf("transcript (-got +want):\n%s", diff)
			}
		})
	}
}
