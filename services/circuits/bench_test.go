package circuits

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// BenchmarkService has a book of 100,000 circuits: its start, until a request is decided on, and what it does every
// second.
func BenchmarkService(b *testing.B) {
	store := etcd.Shared(b)
	fill(b, store, 100_000)
	w := &world{store: store, now: noon, links: map[string]bool{"a-b": true, "b-c": true, "a-c": true}, cfg: DefaultConfiguration()}
	w.cfg.Projects = map[string]Project{"astro": {Members: []string{"ann"}}}
	memory := bus.NewMemory()
	defer memory.Close()
	start := func() *Component {
		c, err := New(w.cfg, Dependencies{State: store, Bus: memory, Paths: paths{w: w}, Log: slog.New(slog.DiscardHandler), Now: w.clock})
		if err != nil {
			b.Fatal(err)
		}
		c.loops.Start(context.Background())
		c.loops.Go(c.ledger.Follow)
		for read := false; !read; {
			var next <-chan struct{}
			if read, next = c.ledger.Read(); !read {
				<-next
			}
		}
		if _, err := c.readTopology(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		return c
	}
	stop := func(c *Component) {
		if err := c.Stop(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			stop(start())
		}
	})
	c := start()
	defer stop(c)
	b.Run("every second", func(b *testing.B) {
		for b.Loop() {
			c.look(context.Background())
		}
	})
}

// fill writes circuits of an hour each, one behind the other, over two links.
func fill(b *testing.B, store *state.Store, circuits int) {
	ops := make([]state.Op, 0, 100)
	for i := range circuits {
		id := fmt.Sprintf("c-%06d", i)
		begin := noon.Add(time.Duration(i%10_000) * time.Hour)
		r := &circuitsv1.Record{Circuit: &circuitsv1.Circuit{
			Id: id, RequestId: id, Holder: "ann", Created: timestamppb.New(noon),
			Slots: []*circuitsv1.Slot{{RateBitsPerSecond: mega, Start: timestamppb.New(begin), End: timestamppb.New(begin.Add(time.Hour))}},
			Terms: &circuitsv1.Terms{Project: "astro", From: "a", To: "b", RateBitsPerSecond: mega, Description: "nightly transfer"},
			Path: []*circuitsv1.Hop{
				{Link: linkID("a", "c"), From: routers["a"], To: routers["c"]}, {Link: linkID("c", "b"), From: routers["c"], To: routers["b"]},
			},
		}}
		r = ledger.With(r, life.Circuit{State: life.Scheduled, Start: begin.Unix(), End: begin.Add(time.Hour).Unix(), Moves: []life.Move{{To: life.Scheduled}}}, noon)
		if ops = append(ops, state.Op{Key: "circuits/book/records/" + id, Value: r}); len(ops) == cap(ops) {
			if err := store.Apply(b.Context(), ops...); err != nil {
				b.Fatal(err)
			}
			ops = ops[:0]
		}
	}
}
