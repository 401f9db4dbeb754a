package rpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
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

// seen answers LastSeen with a number of pairs.
type seen struct {
	flowv1connect.UnimplementedFlowStoreServiceHandler
	pairs int
}

// LastSeen implements flowv1connect.FlowStoreServiceHandler.
func (s seen) LastSeen(context.Context, *connect.Request[flowv1.LastSeenRequest]) (*connect.Response[flowv1.LastSeenResponse], error) {
	out := &flowv1.LastSeenResponse{}
	for range s.pairs {
		out.Pairs = append(out.Pairs, &flowv1.PairSeen{Pair: &flowv1.PrefixPair{Src: "192.0.2.0/24", Dst: "198.51.100.0/24"}})
	}
	return connect.NewResponse(out), nil
}

func TestOnlyLongAnswersAreCompressed(t *testing.T) {
	for pairs, want := range map[int]string{0: "", 1: "", 1000: "gzip"} {
		_, handler := flowv1connect.NewFlowStoreServiceHandler(seen{pairs: pairs}, Bounded(MaxRequest))
		r := httptest.NewRequest(http.MethodPost, flowv1connect.FlowStoreServiceLastSeenProcedure, http.NoBody)
		r.Header.Set("Content-Type", "application/proto")
		r.Header.Set("Accept-Encoding", "gzip")
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		if got := out.Header().Get("Content-Encoding"); out.Code != http.StatusOK || got != want {
			t.Errorf("%d pairs: status %d, encoding %q; want %q", pairs, out.Code, got, want)
		}
	}
}
