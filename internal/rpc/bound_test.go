package rpc

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// TestWhatOnlyGrowsIsRefused: 64 MiB of zeros are 64 KiB on the wire.
func TestWhatOnlyGrowsIsRefused(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(flowv1connect.NewFlowStoreServiceHandler(flowv1connect.UnimplementedFlowStoreServiceHandler{}, Bounded(MaxRequest)))
	for _, body := range []struct {
		what, encoding string
		octets         []byte
	}{{"a bomb", "gzip", bomb.Bytes()}, {"plain zeros", "identity", make([]byte, MaxRequest+1)}} {
		r := httptest.NewRequest(http.MethodPost, flowv1connect.FlowStoreServiceLastSeenProcedure, bytes.NewReader(body.octets))
		r.Header.Set("Content-Type", "application/proto")
		r.Header.Set("Content-Encoding", body.encoding)
		out := httptest.NewRecorder()
		mux.ServeHTTP(out, r)
		var failed struct{ Code string }
		if err := json.Unmarshal(out.Body.Bytes(), &failed); err != nil || failed.Code != "resource_exhausted" {
			t.Errorf("%s: %d %s, %v; want resource_exhausted", body.what, out.Code, out.Body, err)
		}
	}
}
