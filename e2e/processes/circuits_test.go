package processes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/program"
)

// checkCircuits books all that circuits may use of the only link through the gateway, kills the service, and finds the
// circuit booked: a client that repeats its request gets it, and no other circuit gets the capacity.
func (p *plane) checkCircuits(t *testing.T) {
	t.Helper()
	start := time.Now().Add(time.Hour).Truncate(time.Second) // the same in every request: it is the same one
	book := func(key string) (int, string) {
		body := fmt.Sprintf(`{"by":"ann","commit":true,"terms":{"project":"astro","from":"WR","to":"ER","rate_bits_per_second":500000000,"start":%q,"end":%q}}`,
			start.Format(time.RFC3339), start.Add(24*time.Hour).Format(time.RFC3339))
		return p.circuits(t, http.MethodPost, "", key, body)
	}
	var first string
	program.Until(t, "a circuit is booked", func() (bool, any) {
		status, id := book("night")
		first = id
		return status == http.StatusCreated, fmt.Sprint(status, " ", id)
	})
	p.kill(t, "circuits")
	p.start(t, "circuits")
	program.Until(t, "the book is read again", func() (bool, any) {
		status, id := p.circuits(t, http.MethodGet, "/"+first, "", "")
		return status == http.StatusOK && id == first, fmt.Sprint(status, " ", id)
	})
	program.Until(t, "a second circuit is refused", func() (bool, any) {
		status, code := book("other")
		return status == http.StatusConflict && code == "CAPACITY", fmt.Sprint(status, " ", code)
	})
}

// circuits is a request over plain HTTP, and the circuit's id, or the code of the problem.
func (p *plane) circuits(t *testing.T, method, path, key, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, p.url("dashboard")+"/v1/circuits"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Idempotency-Key", key)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Code    string                     `json:"code"`
		Circuit struct{ ID, State string } `json:"circuit"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return r.StatusCode, string(raw)
	}
	return r.StatusCode, answer.Circuit.ID + answer.Code
}
