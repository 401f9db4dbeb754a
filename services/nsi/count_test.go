package nsi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/services/nsi/soap"
)

// Every request is counted once, by what it is answered with.
func TestEveryRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	c, first := w.start(), newID()
	r.connection(r.send(c, first, reserve("west", "nowhere")))
	r.connection(r.send(c, first, reserve("west", "nowhere")))
	r.send(c, newID(), soap.E("t:dance"))
	for _, body := range []string{"no XML", strings.Repeat(" ", soap.MaxBody+1)} {
		answer, err := http.Post("http://"+c.Address()+soapPath, "text/xml", strings.NewReader(body)) //nolint:noctx // a test
		must(t, err)
		answer.Body.Close()
	}
	for _, x := range []struct {
		operation, answer string
		want              float64
	}{{"reserve", "accepted", 1}, {"reserve", "repeated", 1}, {"unknown", notThere.id, 1}, {"unknown", payload.id, 2}} {
		if got := testutil.ToFloat64(c.metrics.requests.WithLabelValues(x.operation, x.answer)); got != x.want {
			t.Errorf("%s, %s: %v, want %v", x.operation, x.answer, got, x.want)
		}
	}
}
