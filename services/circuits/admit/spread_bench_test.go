package admit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// BenchmarkSpreadRefused spreads a volume that no network carries, with the search for a later deadline: the most that
// one request can make a replica do.
func BenchmarkSpreadRefused(b *testing.B) {
	for _, routers := range []int{30, 100, 315} {
		b.Run(fmt.Sprint(routers, "-routers"), func(b *testing.B) {
			book := busy(b, routers)
			q := Request{ID: "v", From: "0", To: fmt.Sprint(routers - 1), Bytes: 1 << 50, Window: calendar.Window{End: 36_000}}
			ids := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
			for b.Loop() {
				if parts, _ := book.Spread(q, ids); parts != nil {
					b.Fatal("it is granted")
				}
			}
		})
	}
}

// busy is a network at random, with three links of 10 Gbit/s from each router and five circuits of an hour for each.
func busy(b *testing.B, routers int) *Book {
	b.Helper()
	r := rand.New(rand.NewPCG(1, uint64(routers)))
	var nodes []graph.Node
	var links []graph.Link
	for i := range routers {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i)})
		for range 3 {
			j := (i + 1 + r.IntN(routers-1)) % routers
			for _, d := range [][2]int{{i, j}, {j, i}} {
				links = append(links, graph.Link{ID: fmt.Sprint(len(links)), From: int32(d[0]), To: int32(d[1]), IGP: 1 + r.Uint32N(9), Capacity: 10 * gbit})
			}
		}
	}
	book := bookOf(b, nodes, links)
	for i := range 5 * routers {
		from, start := r.IntN(routers), r.Int64N(32_400)
		to := (from + 1 + r.IntN(routers-1)) % routers
		q := Request{ID: fmt.Sprint("c", i), From: fmt.Sprint(from), To: fmt.Sprint(to), Rate: gbit / 2, Window: calendar.Window{Start: start, End: start + 3600}}
		if g, _ := book.Decide(q); g != nil {
			if err := book.Enter(*g); err != nil {
				b.Fatal(err)
			}
		}
	}
	return book
}
