package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

const (
	gbit = 1_000_000_000
	// sites are the routers that timed requests lead to, all in one week, at most Gbit/s each: enough that some are
	// refused.
	sites = 6
	most  = 40
)

// network is what is asked of a whole network.
type network struct {
	Routers  int `json:"routers"`
	Links    int `json:"links"`
	Circuits int `json:"circuits"`
	// Bytes is the memory of the book, its graph included.
	Bytes uint64 `json:"bytes"`
	// ReadS is how long it takes to put the circuits into the book, as after a start.
	ReadS   float64 `json:"read_s"`
	Granted times   `json:"granted"`
	Refused times   `json:"refused"`
	Offers  int     `json:"offers"`
	// Displacing are the choices of who makes room for the first of the refused requests, where all circuits may be
	// displaced; Displaced is how many circuits those choices come to.
	Displacing times `json:"displacing"`
	Displaced  int   `json:"displaced"`
}

// choices is how many requests choose who makes room.
const choices = 20

// times of decisions. A grant is entered, too. The mean is of processor time, whose clock may tick in milliseconds; the
// others are by the clock on the wall, which others on the machine disturb.
type times struct {
	Count        int     `json:"count"`
	MeanUS       float64 `json:"mean_us"`
	MedianWallUS float64 `json:"median_wall_us"`
	P99WallUS    float64 `json:"p99_wall_us"`
	wall         []float64
}

func (t *times) add(processor, wall float64) {
	t.Count++
	t.MeanUS += (processor - t.MeanUS) / float64(t.Count)
	t.wall = append(t.wall, wall)
	slices.Sort(t.wall)
	t.MedianWallUS, t.P99WallUS = t.wall[t.Count/2], t.wall[t.Count*99/100]
}

// load reads a network, or makes one: a ring, and chords at random.
func load(file string) (*graph.Graph, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return graph.ParseRepetita(string(text))
	}
	const routers, edges = 315, 972
	r := rand.New(rand.NewPCG(315, 1944))
	var nodes []graph.Node
	for i := range routers {
		nodes = append(nodes, graph.Node{ID: fmt.Sprintf("r%d", i)})
	}
	var links []graph.Link
	for i := range int32(edges) {
		a, b := i%routers, (i+1)%routers
		if i >= routers {
			a = r.Int32N(routers)
			b = (a + 1 + r.Int32N(routers-1)) % routers
		}
		metric := 1 + r.Uint32N(100)
		for _, ends := range [][2]int32{{a, b}, {b, a}} {
			id := fmt.Sprintf("%d-%d-%d", i, ends[0], ends[1])
			links = append(links, graph.Link{ID: id, From: ends[0], To: ends[1], IGP: metric, Delay: metric * 10, Capacity: rate})
		}
	}
	return graph.New(nodes, links)
}

// asker makes requests between routers at random, so that as many as the network has fill a good part of it.
type asker struct {
	*rand.Rand
	graph *graph.Graph
	next  func() booking
	asked int
}

func (a *asker) request() admit.Request {
	from := a.Int32N(int32(a.graph.Nodes()))
	to := (from + 1 + a.Int32N(int32(a.graph.Nodes())-1)) % int32(a.graph.Nodes())
	b := a.next()
	a.asked++
	return admit.Request{
		ID: fmt.Sprint(a.asked), From: a.graph.Node(from).ID, To: a.graph.Node(to).ID, Rate: b.rate, Window: b.Window,
	}
}

// toSite is a request to one of few routers, in a busy week.
func (a *asker) toSite() admit.Request {
	r := a.request()
	r.To = a.graph.Node(a.Int32N(min(sites, int32(a.graph.Nodes())))).ID
	if r.From == r.To {
		return a.toSite()
	}
	r.Window = rush(booking{Window: r.Window}).Window
	r.Rate = (1 + a.Int64N(most)) * gbit
	return r
}

func measureNetwork(file string, circuits, asked int) (network, error) {
	g, err := load(file)
	if err != nil {
		return network{}, err
	}
	if g.Nodes() < 2 || g.Links() == 0 || circuits < 1 {
		return network{}, fmt.Errorf("%d routers, %d links, %d circuits: at least two routers, a link and a circuit", g.Nodes(), g.Links(), circuits)
	}
	n := network{Routers: g.Nodes(), Links: g.Links(), Circuits: circuits}
	before := memory()
	book, err := admit.NewBook(g, func(graph.Link) admit.Limits { return admit.Limits{Soft: rate, Hard: rate} })
	if err != nil {
		return n, err
	}
	// A circuit has some six links, so a link has six circuits of each links' share.
	ask := &asker{Rand: rand.New(rand.NewPCG(7, 8)), graph: g, next: requests(max(circuits*15/g.Links(), 500))}
	if n.ReadS, err = read(book, ask, circuits); err != nil {
		return n, err
	}
	n.Bytes = memory() - before
	holders := entered(book, ask)
	for range asked {
		r := ask.toSite()
		begin := time.Now()
		us, refusal, err := decide(book, r)
		wall := float64(time.Since(begin).Nanoseconds()) / 1000
		switch {
		case err != nil:
			return n, err
		case refusal == nil:
			n.Granted.add(us, wall)
		default:
			n.Refused.add(us, wall)
			n.Offers += len(refusal.Offers)
			if refusal.Code == admit.Capacity && n.Displacing.Count < choices {
				n.displace(book, r, holders)
			}
		}
	}
	runtime.KeepAlive(book)
	return n, nil
}

// entered are all circuits in the book.
func entered(book *admit.Book, ask *asker) (out []admit.Holder) {
	for i := 1; i <= ask.asked; i++ {
		if id := fmt.Sprint(i); known(book, id) {
			out = append(out, admit.Holder{ID: id, Names: []string{id}, Priority: admit.Priorities - 1, Created: int64(i)})
		}
	}
	return out
}

func known(book *admit.Book, id string) bool {
	_, ok := book.Grant(id)
	return ok
}

// displace chooses who makes room, and leaves everyone where he is.
func (n *network) displace(book *admit.Book, r admit.Request, holders []admit.Holder) {
	begin := time.Now()
	us := micros(func() { n.Displaced += len(book.Displace([]admit.Request{r}, 0, holders)) })
	n.Displacing.add(us, float64(time.Since(begin).Nanoseconds())/1000)
}

// read puts circuits into the book. Their paths are those of an empty network, found before the time counts; a path
// that has no room is left out for another.
func read(book *admit.Book, ask *asker, circuits int) (float64, error) {
	empty, err := admit.NewBook(ask.graph, func(graph.Link) admit.Limits { return admit.Limits{Soft: calendar.MaxRate, Hard: calendar.MaxRate} })
	if err != nil {
		return 0, err
	}
	const paths = 2000
	var known [][]string
	for tries := 0; len(known) < paths; tries++ {
		if tries == 100*paths {
			return 0, fmt.Errorf("%d of %d pairs of routers have a path", len(known), tries)
		}
		if g, _ := empty.Decide(ask.request()); g != nil {
			known = append(known, g.Path)
		}
	}
	done := 0
	us := micros(func() {
		for tries := 0; done < circuits && tries < 20*circuits; tries++ {
			r := ask.request()
			slots := []admit.Slot{{Window: r.Window, Rate: r.Rate}}
			if book.Enter(admit.Grant{ID: r.ID, Slots: slots, Path: known[ask.IntN(paths)]}) == nil {
				done++
			}
		}
	})
	if done < circuits {
		return 0, fmt.Errorf("only %d of %d circuits have room", done, circuits)
	}
	return us / 1e6, nil
}

func decide(book *admit.Book, r admit.Request) (us float64, refusal *admit.Refusal, err error) {
	us = micros(func() {
		var g *admit.Grant
		if g, refusal = book.Decide(r); g != nil {
			err = book.Enter(*g)
		}
	})
	return us, refusal, err
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
