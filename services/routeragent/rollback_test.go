package routeragent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/frr"
)

// inSync is false while the router lacks something of its configuration. Of the weights 80 and 5 the first is 94117
// kbit/s of 100 Mbit/s.
const inSync = "/network-instances/network-instance[name=DEFAULT]/agent/state/in-sync"

// breakLSPs is an IGP without adjacencies: no LSP can be made, and what the kernel had of them is gone.
func (x *target) breakLSPs() {
	x.router.In("ip", "route", "flush", "table", "20001")
	x.lsps.forget()
	x.lsps.failWith(frr.ErrUnresolved)
}

// A commit that cuts the router off its neighbours is rolled back, although LSPs cannot be made until it is.
func TestARollbackDoesNotWaitForLSPs(t *testing.T) {
	x := newTargetBy(t, &clock{})
	x.must(t, "update / "+hntes("80"))
	config, before := x.config("/"), x.dump()
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Minute)))); err != nil {
		t.Fatal(err)
	}
	x.breakLSPs()
	x.clock.pass(time.Minute)
	if diff := cmp.Diff(config, x.config("/")); diff != "" {
		t.Errorf("configuration (-before the commit +after its time):\n%s", diff)
	}
	if got := x.router.In("tc", "class", "show", "dev", "ge-b"); !strings.Contains(got, "rate 94117Kbit") {
		t.Errorf("classes after the rollback:\n%s", got)
	}
	if got, err := x.get(gnmi.GetRequest_STATE, inSync); err != nil || got != "false" {
		t.Errorf("in-sync is %s, %v", got, err)
	}
	x.lsps.failWith(nil)
	await.True(t, "the LSP is made again", func() bool { return x.dump() == before })
	await.True(t, "the router is in sync", func() bool {
		got, err := x.get(gnmi.GetRequest_STATE, inSync)
		return err == nil && got == "true"
	})
}

// A router that boots has its schedulers and classifiers before its neighbours are there.
func TestAStartDoesNotWaitForLSPs(t *testing.T) {
	for _, why := range []error{frr.ErrUnresolved, frr.ErrUnavailable} {
		x := newTarget(t)
		x.must(t, "update / "+hntes("80"))
		x.stop()
		x.router.In("tc", "qdisc", "del", "dev", "ge-b", "root")
		x.router.In("tc", "qdisc", "del", "dev", "ge-a", "clsact")
		x.breakLSPs()
		x.lsps.failWith(fmt.Errorf("%w: %w", why, errInjected))
		x.start()
		if got := x.router.In("tc", "class", "show", "dev", "ge-b"); !strings.Contains(got, "rate 94117Kbit") {
			t.Errorf("%v: classes after the start:\n%s", why, got)
		}
		if n := len(x.programs("ge-a", "ingress")); n != 1 {
			t.Errorf("%v: %d classifiers", why, n)
		}
	}
}
