package flowstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit/await"
)

// absent refuses to store while it is away.
type absent struct {
	store.DB
	away *atomic.Bool
}

func (a *absent) Insert(ctx context.Context, b store.Batch) error {
	if a.away.Load() {
		return errors.New("the store is away")
	}
	return a.DB.Insert(ctx, b)
}

// TestAStoreThatIsAwayIsWaitedForWithinABound publishes as fast as it can, that is far more than a network exports,
// until the bus takes no more. What was accepted until then is stored once the store is back.
func TestAStoreThatIsAwayIsWaitedForWithinABound(t *testing.T) {
	const recordsPerBatch, publishers = 200, 3
	const busBound = 64 << 20
	var away atomic.Bool
	r := newRigOn(t, testConfiguration(t.TempDir()), &away)
	registry := prometheus.NewRegistry()
	registry.MustRegister(r.bus)
	away.Store(true)

	// As many bytes as 8,192 records have, in few records: what counts is the memory, and not the time to store them.
	padding := strings.Repeat("x", 600_000)
	records := randomRecords(rand.New(rand.NewPCG(1, 1)), recordsPerBatch)
	before := heapInUse()
	var accepted atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var publishing sync.WaitGroup
	for p := range publishers {
		publishing.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("exporter %d", p)
				if err := r.bus.Publish(ctx, bus.TopicFlows, key, batch(fmt.Sprint(key, n, padding), records...)); err != nil {
					return
				}
				accepted.Add(1)
			}
		})
	}
	message := float64(len(message(t, batch(padding, records...)).Value))
	await.True(t, "the bus takes no more", func() bool { return heldBytes(t, registry) > busBound-2*message })
	if held := heldBytes(t, registry); held > busBound {
		t.Errorf("the bus holds %.0f bytes, want at most %d", held, busBound)
	}
	// Beside the bus each worker has a batch decoded, and a batch is on its way to the engine.
	if grown, bound := heapInUse()-before, busBound+64<<20; grown > bound {
		t.Errorf("the heap has grown by %d bytes, want at most %d", grown, bound)
	}
	stop()
	publishing.Wait()
	away.Store(false)
	await.True(t, "the bus is empty", func() bool { return heldBytes(t, registry) == 0 })
	if n, want := r.count(countFlows), uint64(accepted.Load()*recordsPerBatch); n != want {
		t.Errorf("%d records are stored, want the %d that were accepted", n, want)
	}
}

func heldBytes(t *testing.T, registry *prometheus.Registry) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "millrace_internal_bus_held_bytes" {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
