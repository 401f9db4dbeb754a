// Package otlp is an OpenTelemetry collector for tests: it takes OTLP over HTTP, and shows the spans as a tree.
//
// In: ExportTraceServiceRequest, as a program sends it. Out: spans, and their tree as text. Next: a test.
package otlp

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector has the spans it got.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []*tracev1.Span
}

// Start serves until the test ends.
func Start(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ServeHTTP takes spans at /v1/traces.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := &collector.ExportTraceServiceRequest{}
	body := io.Reader(r.Body)
	var err error
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(r.Body)
	}
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(body)
	}
	if err == nil {
		err = proto.Unmarshal(raw, m)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(r.URL.Path, ": ", err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range m.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// Spans are those that have come.
func (c *Collector) Spans() []*tracev1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Tree is a line for each span, below its parent, with ! where it failed. Those of one parent are in the order of their
// names.
func (c *Collector) Tree() string {
	all := c.Spans()
	known := map[string]bool{}
	for _, s := range all {
		known[string(s.GetSpanId())] = true
	}
	slices.SortFunc(all, func(a, b *tracev1.Span) int { return cmp.Compare(a.GetName(), b.GetName()) })
	var out strings.Builder
	var below func(parent string, indent int)
	below = func(parent string, indent int) {
		for _, s := range all {
			of := string(s.GetParentSpanId())
			if !known[of] {
				of = ""
			}
			if of != parent {
				continue
			}
			failed := ""
			if s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR {
				failed = " !"
			}
			fmt.Fprintf(&out, "%s%s%s\n", strings.Repeat("  ", indent), s.GetName(), failed)
			below(string(s.GetSpanId()), indent+1)
		}
	}
	below("", 0)
	return out.String()
}

// Chains are the names from the first span of a trace to each of its spans, such as "approve > send r1".
func (c *Collector) Chains() (out []string) {
	byID := map[string]*tracev1.Span{}
	for _, s := range c.Spans() {
		byID[string(s.GetSpanId())] = s
	}
	for _, s := range byID {
		chain := s.GetName()
		for up := byID[string(s.GetParentSpanId())]; up != nil; up = byID[string(up.GetParentSpanId())] {
			chain = up.GetName() + " > " + chain
		}
		out = append(out, chain)
	}
	slices.Sort(out)
	return out
}
