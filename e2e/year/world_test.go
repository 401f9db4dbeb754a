package year

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/months"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/tworouters"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

const (
	day = 24 * time.Hour
	// ageAfter is alpha's default, and retention the flow store's.
	ageAfter, retention = 30 * day, 90 * day
	// restartEvery so many days the flow store starts again.
	restartEvery = 60
	// keepPlans and keepRecords are push.keep: numbers need no clock, and a year fills them.
	keepPlans, keepRecords = 90, 180
)

// settings are the defaults, but for what has a clock of its own. A year lies in the past, and the clock of the machine
// at its end: so flows may be old, and the retention is counted from there. Push keeps by number alone; it collects
// each minute.
const settings = `alpha: {nightly_at: ""}
flow: {listen: ["%s"], import_max_age: 20000h}
flowstore: {retention: %s}
push: {keep: {changes: %d, for: 1m, records: %d}}`

// services are all that nightly runs need.
var services = []string{"flowstore", "flow", "paths", "policy", "push", "alpha", "dashboard"}

// world is the control plane, what was sent to it, and what came of it.
type world struct {
	*plane.Plane
	*plane.Work
	months.Traffic
	from  time.Time
	begun time.Time
	// inForce are the pairs of the truth after each day, bursts those of each, records how many each has.
	inForce []map[months.Pair]time.Time
	bursts  map[time.Time][]months.Burst
	batches map[time.Time][]*flowv1.FlowBatch
	records map[time.Time]int

	book   *plane.Book
	meters plane.Meters
	count  tally
	weeks  []sample
	// wrong is what was not as it should be.
	wrong []string
}

// tally is what was counted day by day.
type tally struct {
	done, refused                            int
	asked, verified, empty, failed, needless int
	pairsTrue, alpha, found                  int
	rulesTrue, rulesSeen                     int
	collected                                int
	added, agedOut, flows, kept              int
}

// traffic has some pairs more each day than age out, until as many age out as come. One exporter sees all of it.
func traffic(from time.Time, days int, seed uint64) months.Parameters {
	p := months.Defaults()
	p.Seed, p.From, p.Days, p.Exporters = seed, from, days, []netip.Addr{plane.Exporter}
	p.Sessions, p.NearMisses, p.Background, p.Transfers = 8, 5, 60, 2
	p.NewSites, p.NewHosts = 0.25, 0.2
	return p
}

func newWorld(t *testing.T, days int, seed uint64) *world {
	t.Helper()
	program.NeedLibrary(t)
	begun := time.Now()
	w := &world{
		begun: begun, from: begun.UTC().Truncate(day).AddDate(0, 0, -days), book: plane.NewBook(),
		bursts: map[time.Time][]months.Burst{}, batches: map[time.Time][]*flowv1.FlowBatch{}, records: map[time.Time]int{},
	}
	w.generate(t, days, seed)
	w.Plane = plane.New(t, plane.Options{Services: services, Settings: w.settings(w.from)})
	w.Work = plane.NewWork(http.DefaultClient, w.URL, w.Plane.Routers)
	tworouters.Tell(t, w.Kafka.Addr, http.DefaultClient, w.URL("paths"), time.Now(), func(s *topologyv1.TopologySnapshot) {
		s.Nodes[1].Prefixes = append(s.Nodes[1].Prefixes, "198.18.0.0/15")
	})
	return w
}

func (w *world) generate(t *testing.T, days int, seed uint64) {
	t.Helper()
	p := traffic(w.from, days, seed)
	var err error
	if w.Traffic, err = months.Generate(p); err != nil {
		t.Fatal(err)
	}
	w.inForce = w.Traffic.InForce(24, ageAfter)
	for _, b := range w.Bursts {
		at := b.Start.Truncate(day)
		w.bursts[at] = append(w.bursts[at], b)
	}
	const most = 5000 // in a batch
	for _, b := range w.Batches(p.Name(), most) {
		at := b.GetRecords()[0].GetStart().AsTime().Truncate(day)
		w.batches[at] = append(w.batches[at], b)
		w.records[at] += len(b.GetRecords())
	}
}

// settings at a time of the year: the retention is as far from the clock as if that time were now.
func (w *world) settings(at time.Time) string {
	ago := time.Since(at).Truncate(time.Second)
	return fmt.Sprintf(settings, net.JoinHostPort(program.OwnHost(), "2055"), retention+ago, keepPlans, keepRecords)
}

// date is the midnight at which a day begins.
func (w *world) date(n int) time.Time { return w.from.AddDate(0, 0, n) }

// restart starts the flow store with the retention of that time, and waits until what is older is gone.
func (w *world) restart(t *testing.T, n int) {
	t.Helper()
	w.Reconfigure(t, w.settings(w.date(n)))
	w.Running["flowstore"].Signal(t, syscall.SIGTERM)
	w.Start(t, "flowstore")
	w.retained(t, n)
}

// retained waits until the store has the flows of the retention and no others, each once.
func (w *world) retained(t *testing.T, n int) {
	t.Helper()
	edge := w.date(n).Add(-retention)
	before, want := w.recordsOf(w.from, edge), w.recordsOf(edge, w.date(n))
	if before > 0 {
		program.Until(t, "flows before the retention are gone", func() (bool, any) {
			n, err := w.storedFlows(t, w.from, edge)
			return err == nil && n == 0, []any{n, err}
		})
	}
	got, err := w.storedFlows(t, edge, w.date(n))
	if err != nil || got != want {
		w.blame("%d flows of the 90 days before day %d are stored, %d were sent (%v)", got, n, want, err)
	}
	w.count.kept++
}

func (w *world) recordsOf(from, to time.Time) (n int) {
	for at := range w.records {
		if !at.Before(from) && at.Before(to) {
			n += w.records[at]
		}
	}
	return n
}

// storedFlows counts those that began from included and to not.
func (w *world) storedFlows(t *testing.T, from, to time.Time) (n int, err error) {
	t.Helper()
	const mostPairs = 10_000 // more than there are pairs of sites
	r, err := w.Store.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(from), To: timestamppb.New(to), Ipv4Length: 24, Limit: mostPairs,
	}))
	if err != nil {
		return 0, err
	}
	for _, p := range r.Msg.GetPairs() {
		n += int(p.GetFlows())
	}
	return n, nil
}

func (w *world) blame(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// logs are the octets that the services have logged.
func (w *world) logs() string { return filepath.Join(w.Dir, "*.log") }
