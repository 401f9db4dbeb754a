package nsi

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/millrace/millrace/services/nsi/soap"
)

// Without certificates a page in a browser of the same host reserves nothing.
func TestPagesMayNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.URL = "http://nsi.example.net"
	c := w.start()
	h := soap.Header{ProtocolVersion: soap.ToProvider, RequesterNSA: theirNSA, ProviderNSA: ourNSA}
	for name, x := range map[string]struct {
		host, kind, origin string
		want               int
	}{
		"a program":                   {"", "text/xml; charset=utf-8", "", http.StatusOK},
		"a program, by our name":      {"NSI.example.net:8450", "text/xml", "", http.StatusOK},
		"a page of another origin":    {"", "text/xml", "https://evil.example", http.StatusForbidden},
		"a page under a rebound name": {"evil.example", "text/xml", "http://evil.example", http.StatusMisdirectedRequest},
		"a form":                      {"", "text/plain", "", http.StatusUnsupportedMediaType},
		"no content type":             {"", "", "", http.StatusUnsupportedMediaType},
	} {
		h.CorrelationID = newID()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.Address()+soapPath,
			bytes.NewReader(soap.Envelope(h, soap.E("t:querySummarySync").Bytes())))
		must(t, err)
		q.Host = x.host
		for k, v := range map[string]string{"Content-Type": x.kind, "Origin": x.origin} {
			if v != "" {
				q.Header.Set(k, v)
			}
		}
		answer, err := http.DefaultClient.Do(q)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != x.want {
			t.Errorf("%s: %s, want %d", name, answer.Status, x.want)
		}
	}
}
