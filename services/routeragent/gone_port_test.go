package routeragent_test

import (
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/internal/testkit/await"
)

// A port that is gone takes its own state with it, and nothing else's: a collector subscribes to all counters in one
// call.
func TestAPortThatIsGoneIsLeftOutOfReadings(t *testing.T) {
	x := newTarget(t)
	x.must(t, "update / "+hntes("95"))
	x.must(t, "update / "+strings.ReplaceAll(policed, "ge-a", "ge-b"),
		`update /qos/interfaces/interface[interface-id=ge-a] {"config":{"interface-id":"ge-a"},"interface-ref":{"config":{"interface":"ge-a"}},"output":{"scheduler-policy":{"config":{"name":"te-2q"}}}}`)
	const portOctets = "/qos/interfaces/interface[interface-id=ge-b]/output/queues/queue[name=te-beta]/state/transmit-octets"
	const policer = "/qos/interfaces/interface[interface-id=ge-b]/input/scheduler-policy/schedulers/scheduler[sequence=1]/state"
	read := func(paths ...string) (string, error) {
		req := &gnmi.GetRequest{Type: gnmi.GetRequest_STATE, Encoding: gnmi.Encoding_PROTO}
		for _, p := range paths {
			req.Path = append(req.Path, mustPath(t, p))
		}
		r, err := x.client.Get(t.Context(), req)
		return r.String(), err
	}
	if _, err := read(policer, portOctets); err != nil {
		t.Fatal(err)
	}
	s := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_SAMPLE, "/")))
	s.untilSync()
	x.hide()
	await.True(t, "the stream goes on and has the port under its new name", func() bool {
		_, ok := s.change()["/interfaces/interface[name=ge-x]/state/name"]
		return ok
	})
	if got, err := read("/qos", "/interfaces"); err != nil || !strings.Contains(got, "ge-x") {
		t.Errorf("state without the port: %v\n%s", err, got)
	}
	for _, p := range []string{policer, portOctets} {
		_, err := read(p)
		wantCode(t, err, codes.NotFound)
	}
	x.show()
	await.True(t, "the port's counters are there again", func() bool { _, err := read(policer, portOctets); return err == nil })
}
