package audit

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	promtest "github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/etcd"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// calls is of how many requests a record tells.
func calls(r *auditv1.Record) int { return max(1, int(r.GetTimes())) }

// Callers without a login take a hundredth of the kept records in a day, whatever is different in what they send, and
// take nothing from those who have one. Each request is counted in a record.
func TestStrangersHaveAShareOfTheDay(t *testing.T) {
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const keep, days, different = 1000, 3, 600
	w := start(t, etcd.Shared(t), func(c *Configuration, d *Dependencies) {
		c.Records, d.Registerer, d.Now = keep, prometheus.NewRegistry(), func() time.Time { return clock }
	})
	if err := w.approve(ann, "cs-1", "the change that mattered"); err != nil {
		t.Fatal(err)
	}
	call := rights.Of(pushv1connect.ChangeServiceApproveProcedure)
	no := connect.NewError(connect.CodeUnauthenticated, errors.New("no"))
	bob := rights.Caller{Name: "bob", Role: rights.Viewer, Credential: "c", Session: true}
	for range days {
		for i := range 2 * different {
			w.Refused(rpc.Asked{Who: rights.Anonymous, Call: call, From: fmt.Sprint("2001:db8::", i/2)}, string(rights.NoLogin), no)
		}
		w.Refused(rpc.Asked{Who: bob, Call: call}, string(rights.RoleTooLow), no)
		w.flush(false)
		clock = clock.Add(24 * time.Hour)
		w.flush(false)
	}
	w.flush(true)
	w.settle(t)
	l := kept(t, w.deps.State)
	whole(t, l)
	records, requests := map[string]int{}, map[string]int{}
	for _, r := range l.Records {
		records[r.GetUser()]++
		requests[r.GetUser()] += calls(r)
		if r.GetRefusal() == strangers {
			records[strangers]++
		}
	}
	if got, most := records[""], days*(keep/strangersPart+1); got != most || records[strangers] != days {
		t.Errorf("strangers have %d records, want %d, and %d of them sums", got, most, days)
	}
	if requests[""] != days*2*different || records["bob"] != days || records["ann"] != 2 {
		t.Errorf("records %v of requests %v", records, requests)
	}
	if got := promtest.ToFloat64(w.metrics.summed); got != days*(2*different-keep/strangersPart) {
		t.Errorf("the metric counts %v", got)
	}
}

// Refusals of those who are known have records of their own for some in each window, and one for the others.
func TestRefusalsOfAPersonAreBounded(t *testing.T) {
	w := start(t, etcd.Shared(t))
	asked := rpc.Asked{Who: rights.Caller{Name: "bob", Role: rights.Approver, Credential: "c"}, Call: rights.Of(pushv1connect.ChangeServiceApproveProcedure)}
	for i := range 2 * maxAlike {
		asked.Request = &pushv1.ApproveRequest{Id: fmt.Sprint("cs-", i)}
		w.Refused(asked, string(rights.OutOfScope), connect.NewError(connect.CodePermissionDenied, errors.New("no")))
	}
	w.flush(false)
	w.settle(t)
	l := kept(t, w.deps.State)
	last := l.Records[len(l.Records)-1]
	if len(l.Records) != maxAlike+1 || last.GetTimes() != maxAlike || last.GetRefusal() != others {
		t.Errorf("%d records, the last: %v", len(l.Records), last)
	}
}

// The path of a request for no call is the client's text.
func TestWhatIsNoCallHasOneName(t *testing.T) {
	w := start(t, etcd.Shared(t))
	for i := range 5 {
		r, err := http.Post(fmt.Sprintf("%s/millrace.push.v1.ChangeService/x%d", w.url, i), "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Body.Close(); err != nil || r.StatusCode < http.StatusBadRequest {
			t.Fatal(r.Status, err)
		}
	}
	w.flush(false)
	w.settle(t)
	l := kept(t, w.deps.State)
	if len(l.Records) != 2 || l.Records[1].GetTimes() != 4 {
		t.Fatalf("%v", l.Records)
	}
	for _, r := range l.Records {
		if r.GetProcedure() != noCall || r.GetRefusal() != string(rights.Undeclared) {
			t.Errorf("%v", r)
		}
	}
}
