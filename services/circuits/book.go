package circuits

import (
	"cmp"
	"errors"
	"math/big"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/maintain"
	"github.com/millrace/millrace/services/circuits/ports"
	"github.com/millrace/millrace/services/paths/compute"
	"github.com/millrace/millrace/services/paths/graph"
)

// book mirrors the ledger: what is free of each link, and what each project has.
type book struct {
	cfg Configuration
	// admit is nil until there is a topology, and while it lacks a link that another replica booked: then missed is
	// called.
	admit  *admit.Book
	graph  *graph.Graph
	topo   *topo.Graph
	missed chan struct{}
	// read is when the present topology was requested, by the monotonic clock.
	read time.Time
	// guarantee is what the policy keeps for circuits, as it was read last.
	guarantee guarantee
	// ports is which circuit has which VLAN; it needs no topology.
	ports *ports.Book
	// changes counts what may make room for a circuit: other links, and capacity that is given back.
	changes int64
	// records are those of circuits that have capacity, by id.
	records map[string]*circuitsv1.Record
	// usage is per project.
	usage map[string]*usage
	// states counts circuits by state.
	states   map[circuitsv1.State]int
	watchers map[*watcher]bool
	// maintenance is what is planned, takings what it takes of which links, and hits which circuits it hits.
	maintenance map[string]*circuitsv1.Maintenance
	takings     map[string][]maintain.Taken
	hits        hits
}

// usage is what the circuits of a project that have capacity come to.
type usage struct {
	// concurrent is the rate over time.
	concurrent *calendar.Calendar
	// bits is rate by length of all slots but open-ended ones.
	bits *big.Int
	held int
	// circuits that have capacity.
	circuits int
}

func newBook(cfg Configuration) *book {
	return &book{
		cfg: cfg, guarantee: atFirst(cfg), missed: make(chan struct{}, 1), ports: ports.NewBook(), records: map[string]*circuitsv1.Record{}, usage: map[string]*usage{}, states: map[circuitsv1.State]int{},
		watchers: map[*watcher]bool{}, maintenance: map[string]*circuitsv1.Maintenance{},
	}
}

// Put implements ledger.Mirror.
func (b *book) Put(was, is *circuitsv1.Record) {
	if was != nil {
		b.states[was.GetCircuit().GetState()]--
	}
	if is != nil {
		b.states[is.GetCircuit().GetState()]++
	}
	if ledger.Books(is) {
		b.records[is.GetCircuit().GetId()] = is
	} else {
		delete(b.records, cmp.Or(was, is).GetCircuit().GetId())
	}
	if is != nil {
		b.onPorts(is)
	} else {
		b.ports.Remove(was.GetCircuit().GetId())
	}
	switch had, has := ledger.Books(was), ledger.Books(is); {
	case had && !has:
		b.changes++
		b.hits.old = true
		b.count(was, -1)
		if b.admit != nil && b.free(was) != nil {
			b.miss()
		}
	case !had && has:
		b.hits.old = true
		b.count(is, 1)
		if b.admit != nil && b.enter(b.admit, is) != nil {
			b.miss()
		}
	case has && !sameBooking(was, is):
		b.changes++
		b.hits.old = true
		b.count(was, -1)
		b.count(is, 1)
		if b.admit != nil && errors.Join(b.free(was), b.enter(b.admit, is)) != nil {
			b.miss()
		}
	case has:
		b.countHeld(was, -1)
		b.countHeld(is, 1)
	}
	if is != nil {
		b.tell(is)
	}
}

// sameBooking reports whether two records of a circuit have the same capacity.
func sameBooking(was, is *circuitsv1.Record) bool {
	a, b := grantOf(was), grantOf(is)
	back, _ := backOf(was)
	back2, _ := backOf(is)
	had, _ := hadOf(was)
	had2, _ := hadOf(is)
	return slices.Equal(a.Slots, b.Slots) && sameLinks(a, b) && sameLinks(back, back2) && sameLinks(had, had2)
}

func sameLinks(a, b admit.Grant) bool {
	return slices.Equal(a.Path, b.Path) && slices.Equal(a.Backup, b.Backup)
}

// miss: a circuit uses a link that is not known here yet. Nothing is decided until the book is made anew.
func (b *book) miss() {
	b.admit = nil
	select {
	case b.missed <- struct{}{}:
	default:
	}
}

// of is the usage of a project.
func (b *book) of(project string) *usage {
	u := b.usage[project]
	if u == nil {
		u = &usage{bits: new(big.Int)}
		var err error
		if u.concurrent, err = calendar.New(calendar.MaxRate, calendar.MaxRate); err != nil {
			panic(err) // constants
		}
		b.usage[project] = u
	}
	return u
}

// count adds a record's slots to its project's usage, or removes them.
func (b *book) count(r *circuitsv1.Record, sign int64) {
	u := b.of(r.GetCircuit().GetTerms().GetProject())
	b.countHeld(r, int(sign))
	u.circuits += int(sign)
	for _, s := range grantOf(r).Slots {
		// More than MaxRate in sum is never granted, so these do not fail.
		if sign > 0 {
			_ = u.concurrent.Add(s.Window, s.Rate)
		} else {
			_ = u.concurrent.Remove(s.Window, s.Rate)
		}
		if s.End != calendar.Forever {
			u.bits.Add(u.bits, new(big.Int).Mul(bits(s), big.NewInt(sign)))
		}
	}
}

func bits(s admit.Slot) *big.Int {
	return new(big.Int).Mul(big.NewInt(s.Rate), big.NewInt(s.End-s.Start))
}

func (b *book) countHeld(r *circuitsv1.Record, sign int) {
	if r.GetCircuit().GetState() == circuitsv1.State_STATE_HELD {
		b.of(r.GetCircuit().GetTerms().GetProject()).held += sign
	}
}

// rebuild makes the book of a topology and all records. Links that circuits use and the topology lacks stay in it
// without any capacity, so that their circuits still count on the other links.
func (b *book) rebuild(t *topo.Graph, all func(yield func(*circuitsv1.Record) bool)) error {
	g, err := graph.FromTopology(t)
	if err != nil {
		return err
	}
	if g, err = withAbsent(g, all); err != nil {
		return err
	}
	made, err := admit.NewBook(g, func(l graph.Link) admit.Limits {
		return admit.Limits{Soft: calendar.Share(min(l.Capacity, calendar.MaxRate), b.caps().soft), Hard: b.usable(l.Capacity)}
	})
	if err != nil {
		return err
	}
	made.SetSIDs(compute.SIDs(t, g))
	if b.cfg.Provision.Policy != "" {
		made.SetPlain(plain(t, g))
	}
	for r := range all {
		if ledger.Books(r) {
			if err := b.enter(made, r); err != nil {
				return err
			}
		}
	}
	b.admit, b.graph, b.topo = made, g, t
	b.changes++
	return b.setOutages()
}

// plain are the routers that run no segment routing; none where nobody runs it, and nothing can be said.
func plain(t *topo.Graph, g *graph.Graph) (out []int32) {
	for _, n := range t.Nodes() {
		if at, ok := g.NodeIndex(n.ID.String()); ok && !compute.PassesLabels(t, n) {
			out = append(out, at)
		}
	}
	if len(out) == len(t.Nodes()) {
		return nil
	}
	return out
}

// usable is what circuits may use of a port at the most: the hard cap.
func (b *book) usable(port int64) int64 {
	return calendar.Share(min(port, calendar.MaxRate), b.caps().hard)
}

// withAbsent adds links that circuits use and the graph lacks.
func withAbsent(g *graph.Graph, all func(yield func(*circuitsv1.Record) bool)) (*graph.Graph, error) {
	var nodes []graph.Node
	var links []graph.Link
	index, known := map[string]int32{}, map[string]bool{}
	for n := range int32(g.Nodes()) {
		nodes = append(nodes, g.Node(n))
		index[g.Node(n).ID] = n
	}
	for l := range int32(g.Links()) {
		links = append(links, g.Link(l))
		known[g.Link(l).ID] = true
	}
	node := func(id string) int32 {
		n, ok := index[id]
		if !ok {
			n = int32(len(nodes))
			nodes, index[id] = append(nodes, graph.Node{ID: id, Name: id}), n
		}
		return n
	}
	present := len(links)
	for r := range all {
		if !ledger.Books(r) {
			continue
		}
		for _, h := range slices.Concat(hops(r.GetCircuit()), hadHops(r)) {
			if !known[h.GetLink()] {
				known[h.GetLink()] = true
				links = append(links, graph.Link{ID: h.GetLink(), From: node(h.GetFrom()), To: node(h.GetTo()), IGP: 1, Delay: graph.DelayUnknown})
			}
		}
	}
	if len(links) == present {
		return g, nil
	}
	return graph.New(nodes, links)
}

// hops are those of the path, of the backup and of the return path.
func hops(c *circuitsv1.Circuit) []*circuitsv1.Hop {
	return slices.Concat(c.GetPath(), c.GetBackup(), c.GetBack())
}

// hadHops are those of an earlier path that routers may still have.
func hadHops(r *circuitsv1.Record) []*circuitsv1.Hop {
	return slices.Concat(r.GetLife().GetHadPath(), r.GetLife().GetHadBackup(), r.GetLife().GetHadBack())
}

// there reports whether the topology has every link of a circuit's path, between the routers that it was booked
// between: a link keeps its id where its port is connected to another router.
func (b *book) there(c *circuitsv1.Circuit) bool { return !slices.ContainsFunc(bothPaths(c), b.isGone) }

// bothPaths are the hops of the path and of the return path.
func bothPaths(c *circuitsv1.Circuit) []*circuitsv1.Hop {
	return slices.Concat(c.GetPath(), c.GetBack())
}

func (b *book) isGone(h *circuitsv1.Hop) bool {
	l := b.topo.Link(h.GetLink())
	return l == nil || l.From.String() != h.GetFrom() || l.To.String() != h.GetTo()
}
