//go:build k8s

package k8s

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/transfers"
)

// A collector under load uses loadFactor times what it uses for exporters only, and leastLoad thousandths of a
// processor. A third of that, in whole percent of what its pod requests, is the target: an autoscaler wants three
// collectors under load, and one without, for two that hear exporters only use less than the target.
const (
	loadFactor = 12
	leastLoad  = 30
)

// autoscaled lets Kubernetes add two collectors by what they use of the processor, and take them away again, while
// exporters send and files are imported: each datagram's record is stored, and each that was imported. Imports are the
// load, for datagrams in such numbers are lost on a machine that has other work: nobody sends them again.
func (w *world) autoscaled(t *testing.T) {
	w.node.Metrics(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exporters := &senders{w: w, ctx: ctx, of: transfers.Transfer{Src: "10.27.0.5", Dst: "10.28.0.9", Bytes: 1_000_000}}
	exporters.more(t, earlyExporters)
	idle := w.usage(t)
	load := w.newImports(t)
	busy := 0.0
	for busy < max(loadFactor*idle, leastLoad) {
		load.more(t, max(4, load.clients)) // then twice as many
		busy = w.usage(t)
	}
	asks := w.node.Kubectl(t, "get", "pod", "millrace-flow-0", "-o", "jsonpath={.spec.containers[0].resources.requests.cpu}")
	request, err := strconv.ParseFloat(strings.TrimSuffix(asks, "m"), 64)
	if err != nil {
		t.Fatal(err)
	}
	percent := int(busy / 3 / request * 100)
	t.Logf("%.1f m without imports, %.1f m with those of %d clients; the target is %d %% of %s", idle, busy, load.clients, percent, asks)

	w.autoscaling(t, percent)
	exporters.untilEach(t, 3)
	records := load.end()
	kubenode.Until(t, "one collector is left", func() (bool, any) {
		out := w.node.Kubectl(t, "get", "pods", "-l", "app.kubernetes.io/component=flow", "-o", "name")
		return len(strings.Fields(out)) == 1, w.node.Kubectl(t, "get", "hpa", "millrace-flow", "--no-headers")
	})
	stop()
	t.Logf("%s", w.node.Kubectl(t, "describe", "hpa", "millrace-flow"))
	w.holds(t, exporters.of, exporters.total(t))
	w.holds(t, load.of, records)
	if out, err := w.upgrade(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// autoscaling gives collectors an autoscaler that waits for no calm before it takes one away.
func (w *world) autoscaling(t *testing.T, percent int) {
	t.Helper()
	of := fmt.Sprintf(`parts.autoscaling.flow={"min":1,"max":3,"cpu":%d,"behavior":{"scaleDown":{"stabilizationWindowSeconds":0}}}`, percent)
	if out, err := w.upgrade(t, "--set-json", of); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// usage is what the one collector used of a processor in a period that began after now, in thousandths of a processor.
func (w *world) usage(t *testing.T) (milli float64) {
	t.Helper()
	now := time.Now()
	kubenode.Until(t, "what the collector uses is known", func() (bool, any) {
		out, err := w.node.TryKubectl(t, "get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/millrace-flow-0")
		var m struct {
			Timestamp  time.Time
			Window     string
			Containers []struct{ Usage struct{ CPU string } }
		}
		if err != nil || json.Unmarshal([]byte(out), &m) != nil || len(m.Containers) != 1 {
			return false, fmt.Sprint(out, err)
		}
		window, err := time.ParseDuration(m.Window)
		if err != nil {
			t.Fatal(err)
		}
		nano, err := strconv.ParseFloat(strings.TrimSuffix(m.Containers[0].Usage.CPU, "n"), 64)
		milli = nano / 1e6
		return err == nil && m.Timestamp.Add(-window).After(now), out
	})
	return milli
}

// imports are clients that import one batch after the other, each at its own pace.
type imports struct {
	w       *world
	of      transfers.Transfer
	ctx     context.Context
	stop    func()
	running sync.WaitGroup
	clients int
	batches atomic.Uint64
}

const (
	importRecords = 2000 // of a batch
	importPause   = 100 * time.Millisecond
	// manyClients are as many as two processors can serve.
	manyClients = 32
)

func (w *world) newImports(t *testing.T) *imports {
	m := &imports{w: w, of: transfers.Transfer{Src: "10.29.0.5", Dst: "10.30.0.9", Bytes: 1_000_000}}
	m.ctx, m.stop = context.WithCancel(t.Context())
	t.Cleanup(func() { m.end() })
	return m
}

// more begins n further clients.
func (m *imports) more(t *testing.T, n int) {
	t.Helper()
	for range n {
		m.clients++
		client := fmt.Sprint("autoscaled-", m.clients)
		m.running.Go(func() { m.batches.Add(m.w.load(m.ctx, t, client, m.of, importRecords, importPause)) })
	}
	if m.clients > manyClients {
		t.Fatalf("%d clients give the collector too little to do", m.clients)
	}
}

// end ends all clients, and says how many records they have imported.
func (m *imports) end() uint64 {
	m.stop()
	m.running.Wait()
	return m.batches.Load() * importRecords
}
