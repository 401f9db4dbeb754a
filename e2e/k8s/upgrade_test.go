//go:build k8s

package k8s

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/transfers"
)

// killedInImport: what was answered is stored, and who imports all of it again doubles nothing.
func (w *world) killedInImport(t *testing.T) {
	const batches = 60
	begin := time.Now().Add(-10 * time.Minute)
	of := transfers.Transfer{Src: "10.5.0.5", Dst: "10.6.0.9", Bytes: 7_654_321}
	var before []string
	for i := range batches {
		if i == batches/2 {
			before = w.kill(t, "flow", "flowstore")
		}
		if err := w.give(t, fmt.Sprint("killed-", i), of, begin, 1); err != nil {
			t.Logf("batch %d: %v", i, err)
			break
		}
	}
	w.ready(t, before)
	for i := range batches {
		w.giveUntilTaken(t.Context(), t, fmt.Sprint("killed-", i), of, begin, 1)
	}
	w.holds(t, of, batches)
}

// holds waits until the store has as many flows of a pair, and fails if there are more.
func (w *world) holds(t *testing.T, of transfers.Transfer, flows uint64) {
	t.Helper()
	var n uint64
	kubenode.Until(t, fmt.Sprintf("%d flows are stored", flows), func() (bool, any) {
		var err error
		n, err = w.stored(t, of)
		return n >= flows, fmt.Sprint(n, " ", err)
	})
	if n > flows {
		t.Errorf("%d flows are stored of %d", n, flows)
	}
}

// giveUntilTaken repeats a batch until the collector has answered that it has it.
func (w *world) giveUntilTaken(ctx context.Context, t *testing.T, batch string, of transfers.Transfer, begin time.Time, records int) {
	for w.give(t, batch, of, begin, records) != nil && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
	}
}

// load imports one batch after the other until ctx ends, with a pause after each, and returns how many were
// acknowledged. Batches of two clients have different names.
func (w *world) load(ctx context.Context, t *testing.T, client string, of transfers.Transfer, records int, pause time.Duration) (given uint64) {
	begin := time.Now().Add(-10 * time.Minute)
	for ; ctx.Err() == nil; time.Sleep(pause) {
		w.giveUntilTaken(t.Context(), t, fmt.Sprint(client, "-", given), of, begin, records)
		given++
	}
	return given
}

// upgradeUnderLoad imports one batch after the other while the pod is replaced twice.
func (w *world) upgradeUnderLoad(t *testing.T) {
	of := transfers.Transfer{Src: "10.15.0.5", Dst: "10.16.0.9", Bytes: 1_000_000}
	ctx, stop := context.WithCancel(t.Context())
	given, wg := uint64(0), sync.WaitGroup{}
	wg.Go(func() { given = w.load(ctx, t, "load", of, 1, 0) })
	before := w.programs(t)
	if out, err := w.upgrade(t, "--set", "image.tag=next"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	w.ready(t, before)
	if got := w.tag(t); got != "next" {
		t.Errorf("after the upgrade the image is %s", got)
	}
	before = w.programs(t)
	w.helm(t, "rollback", "millrace", "--wait", "--timeout", kubenode.Patience.String())
	w.ready(t, before)
	if got := w.tag(t); got != appVersion(t) {
		t.Errorf("after the rollback the image is %s", got)
	}
	stop()
	wg.Wait()
	t.Logf("%d batches meanwhile", given)
	w.holds(t, of, given)
}

func (w *world) tag(t *testing.T) string {
	t.Helper()
	image := w.node.Kubectl(t, "get", "pod", pod, "-o", "jsonpath={.spec.containers[0].image}")
	return image[strings.LastIndex(image, ":")+1:]
}

func (w *world) badImage(t *testing.T) {
	w.refused(t, "--set", "image.tag=nowhere", "--timeout", "30s")
	if out := w.node.Kubectl(t, "get", "pods", "-l", "app.kubernetes.io/component=check"); !strings.Contains(out, "Image") {
		t.Errorf("the job does not wait for its image:\n%s", out)
	}
}

func (w *world) badKey(t *testing.T) {
	w.refused(t, "--set", "config.push.nonsense=1", "--timeout", "2m")
	if out := w.node.Kubectl(t, "logs", "job/millrace-check"); !strings.Contains(out, "nonsense") {
		t.Errorf("the job's log does not name the key:\n%s", out)
	}
}

// refused is an upgrade that fails, and the pod of before, which nothing has stopped.
func (w *world) refused(t *testing.T, args ...string) {
	t.Helper()
	before := w.programs(t)
	out, err := w.upgrade(t, append([]string{"--rollback-on-failure"}, args...)...)
	if err == nil {
		t.Fatalf("the upgrade succeeded:\n%s", out)
	}
	t.Logf("helm says: %s", out)
	w.holdsAs(t, before)
}

// holdsAs fails unless the pod is the same as before, answers, and is what the release says.
func (w *world) holdsAs(t *testing.T, before []string) {
	t.Helper()
	if after := w.programs(t); !slices.Equal(after, before) {
		t.Errorf("the pod is %s, and was %s", after, before)
	}
	if out, err := w.asAdmin(t, "alpha", "list"); err != nil {
		t.Errorf("it does not answer: %v %s", err, out)
	}
	if out := w.helm(t, "status", "millrace"); !strings.Contains(out, "STATUS: deployed") {
		t.Errorf("the release is not deployed:\n%s", out)
	}
}
