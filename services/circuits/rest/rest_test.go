package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/services/circuits/rest"
)

// service records its requests, and answers with one error or one circuit.
type service struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
	asked proto.Message
	err   error
}

var circuit = &circuitsv1.Circuit{Id: "c1", State: circuitsv1.State_STATE_HELD, Version: 7, Terms: &circuitsv1.Terms{RateBitsPerSecond: 5_000_000_000}}

// Request implements CircuitsService.
func (s *service) Request(_ context.Context, r *connect.Request[circuitsv1.RequestRequest]) (*connect.Response[circuitsv1.RequestResponse], error) {
	s.asked = r.Msg
	return connect.NewResponse(&circuitsv1.RequestResponse{Circuit: circuit}), s.err
}

// Commit implements CircuitsService.
func (s *service) Commit(_ context.Context, r *connect.Request[circuitsv1.CommitRequest]) (*connect.Response[circuitsv1.CommitResponse], error) {
	s.asked = r.Msg
	return connect.NewResponse(&circuitsv1.CommitResponse{Circuit: circuit}), s.err
}

// List implements CircuitsService.
func (s *service) List(_ context.Context, r *connect.Request[circuitsv1.ListRequest]) (*connect.Response[circuitsv1.ListResponse], error) {
	s.asked = r.Msg
	return connect.NewResponse(&circuitsv1.ListResponse{Circuits: []*circuitsv1.Circuit{circuit}}), s.err
}

// Get implements CircuitsService.
func (s *service) Get(_ context.Context, r *connect.Request[circuitsv1.GetRequest]) (*connect.Response[circuitsv1.GetResponse], error) {
	s.asked = r.Msg
	return connect.NewResponse(&circuitsv1.GetResponse{Circuit: circuit}), s.err
}

// Modify implements CircuitsService.
func (s *service) Modify(_ context.Context, r *connect.Request[circuitsv1.ModifyRequest]) (*connect.Response[circuitsv1.ModifyResponse], error) {
	s.asked = r.Msg
	return connect.NewResponse(&circuitsv1.ModifyResponse{Circuit: circuit}), s.err
}

// ask is one request, and its answer's JSON.
func ask(t *testing.T, s *service, method, url, body string, header ...string) (*http.Response, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	rest.NewHandler(s, nil).ServeHTTP(w, r)
	out := map[string]any{}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil && w.Code != http.StatusNotModified {
		t.Fatalf("%s %s: %v: %q", method, url, err, w.Body)
	}
	return w.Result(), out
}

func TestRequestsAreCalls(t *testing.T) {
	for name, c := range map[string]struct {
		method, url, body string
		header            []string
		want              proto.Message
		status            int
	}{
		"a request": {"POST", "/v1/circuits", `{"request_id":"r","terms":{"project":"p","rate_bits_per_second":"5","start":"2026-11-23T22:00:00+01:00"},"by":"ann"}`, nil,
			&circuitsv1.RequestRequest{RequestId: "r", By: "ann", Terms: &circuitsv1.Terms{Project: "p", RateBitsPerSecond: 5, Start: at(1795467600)}}, 201},
		"its id in the header": {"POST", "/v1/circuits", `{}`, []string{"Idempotency-Key", "k"}, &circuitsv1.RequestRequest{RequestId: "k"}, 201},
		"the body's id":        {"POST", "/v1/circuits", `{"requestId":"r"}`, []string{"Idempotency-Key", "k"}, &circuitsv1.RequestRequest{RequestId: "r"}, 201},
		"an id in the path":    {"POST", "/v1/circuits/c%201/commit", `{"id":"other","by":"ann"}`, nil, &circuitsv1.CommitRequest{Id: "c 1", By: "ann"}, 200},
		"a query": {"GET", "/v1/circuits?project=p&states=STATE_HELD&states=STATE_ACTIVE&page_size=5&start=2026-11-23T21:00:00Z", "", nil,
			&circuitsv1.ListRequest{Project: "p", States: []circuitsv1.State{1, 5}, PageSize: 5, Start: at(1795467600)}, 200},
		"a key of a client that sends one with all": {"GET", "/v1/circuits?project=p", "", []string{"Idempotency-Key", "k"}, &circuitsv1.ListRequest{Project: "p"}, 200},
	} {
		s := &service{}
		r, out := ask(t, s, c.method, c.url, c.body, c.header...)
		if r.StatusCode != c.status || !proto.Equal(s.asked, c.want) || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d, %v; want %v", name, r.StatusCode, s.asked, c.want)
		}
		one, _ := out["circuit"].(map[string]any)
		if list, ok := out["circuits"].([]any); ok {
			one, _ = list[0].(map[string]any)
		}
		if one["id"] != "c1" || one["terms"].(map[string]any)["rate_bits_per_second"] != "5000000000" {
			t.Errorf("%s: answered %v", name, out)
		}
	}
}

// What is wrong with a request is a problem, and the service is not asked.
func TestWhatIsNoCall(t *testing.T) {
	for name, c := range map[string]struct {
		method, url, body, kind string
		status                  int
		code, field             string
	}{
		"no such path":        {"GET", "/v1/nothing", "", "", 404, "NOT_FOUND", ""},
		"another method":      {"DELETE", "/v1/circuits", "", "", 405, "METHOD_NOT_ALLOWED", ""},
		"no JSON":             {"POST", "/v1/circuits", "terms", "", 400, "BAD_REQUEST", "body"},
		"an unknown field":    {"POST", "/v1/circuits", `{"rate":5}`, "", 400, "BAD_REQUEST", "body"},
		"a rate of words":     {"POST", "/v1/circuits", `{"terms":{"rate_bits_per_second":"fast"}}`, "", 400, "BAD_REQUEST", "body"},
		"a time of no zone":   {"POST", "/v1/circuits", `{"terms":{"start":"2026-11-23T22:00:00"}}`, "", 400, "BAD_REQUEST", "body"},
		"a form":              {"POST", "/v1/circuits", "a=b", "application/x-www-form-urlencoded", 415, "MEDIA_TYPE", ""},
		"10 MB":               {"POST", "/v1/circuits", `{"by":"` + strings.Repeat("x", 10<<20) + `"}`, "", 413, "TOO_LARGE", ""},
		"an unknown query":    {"GET", "/v1/circuits?colour=red", "", "", 400, "BAD_REQUEST", "colour"},
		"a query for a POST":  {"POST", "/v1/circuits?by=ann", "{}", "", 400, "BAD_REQUEST", "by"},
		"a query twice":       {"GET", "/v1/circuits?project=a&project=b", "", "", 400, "BAD_REQUEST", "project"},
		"an order of words":   {"GET", "/v1/circuits?newest_first=yes", "", "", 400, "BAD_REQUEST", "newest_first"},
		"a size of words":     {"GET", "/v1/circuits?page_size=all", "", "", 400, "BAD_REQUEST", "page_size"},
		"a state there isn't": {"GET", "/v1/circuits?states=STATE_HAPPY", "", "", 400, "BAD_REQUEST", "states"},
		"a start of words":    {"GET", "/v1/circuits?start=tonight", "", "", 400, "BAD_REQUEST", "start"},
	} {
		s := &service{}
		kind := c.kind
		if kind == "" {
			kind = "application/json"
		}
		r, out := ask(t, s, c.method, c.url, c.body, "Content-Type", kind)
		field, _ := out["field"].(string)
		if r.StatusCode != c.status || out["code"] != c.code || field != c.field || s.asked != nil || r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d, %v", name, r.StatusCode, out)
		}
		for _, member := range []string{"type", "title", "detail"} {
			if text, _ := out[member].(string); text == "" {
				t.Errorf("%s: no %s", name, member)
			}
		}
	}
	if r, _ := ask(t, &service{}, "PUT", "/v1/circuits", ""); r.Header.Get("Allow") != "GET, POST" {
		t.Errorf("allowed: %v", r.Header.Values("Allow"))
	}
}

// A circuit's version is its entity tag: what was read is not sent again, and what is outdated is not changed.
func TestEntityTags(t *testing.T) {
	for _, c := range []struct {
		method, url, header, tag string
		status                   int
		code                     string
		version                  int64
	}{
		{"GET", "/v1/circuits/c1", "If-None-Match", `"6"`, 200, "", 0},
		{"GET", "/v1/circuits/c1", "If-None-Match", `"6", W/"7"`, 304, "", 0},
		{"GET", "/v1/circuits/c1", "If-None-Match", "*", 304, "", 0},
		{"PATCH", "/v1/circuits/c1", "If-Match", `"6"`, 200, "", 6},
		{"PATCH", "/v1/circuits/c1", "If-Match", "", 428, "IF_MATCH_REQUIRED", 0},
		{"PATCH", "/v1/circuits/c1", "If-Match", "6", 412, "OUTDATED", 0},
		{"PATCH", "/v1/circuits/c1", "If-Match", `W/"6"`, 412, "OUTDATED", 0},
		{"PATCH", "/v1/circuits/c1", "If-Match", `"0"`, 412, "OUTDATED", 0},
		{"PATCH", "/v1/circuits/c1", "If-Match", `"x"`, 412, "OUTDATED", 0},
	} {
		s := &service{}
		body := ""
		if c.method == "PATCH" {
			body = `{"by":"ann","rate_bits_per_second":"5"}`
		}
		r, out := ask(t, s, c.method, c.url, body, c.header, c.tag)
		code, _ := out["code"].(string)
		m, _ := s.asked.(*circuitsv1.ModifyRequest)
		if r.StatusCode != c.status || code != c.code || m.GetVersion() != c.version || (c.status < 400) != (r.Header.Get("ETag") == `"7"`) {
			t.Errorf("%+v: %d, %v, ETag %s, asked %v", c, r.StatusCode, out, r.Header.Get("ETag"), s.asked)
		}
		if c.version > 0 && (m.GetId() != "c1" || m.GetRateBitsPerSecond() != 5) {
			t.Errorf("asked %v", m)
		}
	}
	outdated := connect.NewError(connect.CodeAborted, errors.New("x"))
	detail, err := connect.NewErrorDetail(&circuitsv1.Refusal{Code: "OUTDATED", Field: "version"})
	if err != nil {
		t.Fatal(err)
	}
	outdated.AddDetail(detail)
	if r, out := ask(t, &service{err: outdated}, "PATCH", "/v1/circuits/c1", "{}", "If-Match", `"6"`); r.StatusCode != 412 || out["code"] != "OUTDATED" {
		t.Errorf("%d %v", r.StatusCode, out)
	}
	if r, _ := ask(t, &service{}, "PUT", "/v1/circuits/c1", ""); r.Header.Get("Allow") != "GET, PATCH" {
		t.Errorf("allowed: %v", r.Header.Values("Allow"))
	}
}

func TestErrorsAreProblems(t *testing.T) {
	full := connect.NewError(connect.CodeFailedPrecondition, errors.New("no path has room"))
	detail, err := connect.NewErrorDetail(&circuitsv1.Refusal{Code: "CAPACITY", Field: "", Offers: []*circuitsv1.Offer{{Kind: "LATER"}}})
	if err != nil {
		t.Fatal(err)
	}
	full.AddDetail(detail)
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"a refusal":         {full, 409, "CAPACITY"},
		"an unknown id":     {connect.NewError(connect.CodeNotFound, errors.New("x")), 404, "NOT_FOUND"},
		"another request":   {connect.NewError(connect.CodeAlreadyExists, errors.New("x")), 409, "REQUEST_ID_IN_USE"},
		"a wrong state":     {connect.NewError(connect.CodeFailedPrecondition, errors.New("x")), 409, "STATE"},
		"no etcd":           {connect.NewError(connect.CodeUnavailable, errors.New("x")), 503, "UNAVAILABLE"},
		"what nobody knows": {errors.New("x"), 500, "INTERNAL"},
	} {
		r, out := ask(t, &service{err: c.err}, "POST", "/v1/circuits", "{}")
		if r.StatusCode != c.status || out["code"] != c.code || out["status"] != float64(c.status) || (c.status == 503) != (r.Header.Get("Retry-After") != "") {
			t.Errorf("%s: %d, %v", name, r.StatusCode, out)
		}
		if name == "a refusal" && out["refusal"].(map[string]any)["offers"] == nil {
			t.Errorf("%s: no offers: %v", name, out)
		}
	}
}

// The page is what is served.
func TestOpenAPIIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/circuits-openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), string(rest.OpenAPI())); diff != "" {
		t.Errorf("docs/reference/circuits-openapi.json is not current; run make generate (-page +routes):\n%s", diff)
	}
	r, out := ask(t, &service{}, "GET", "/v1/openapi.json", "")
	if r.StatusCode != 200 || out["openapi"] != "3.1.0" {
		t.Errorf("%d, %v", r.StatusCode, out["openapi"])
	}
	schemas := out["components"].(map[string]any)["schemas"].(map[string]any)
	for _, bound := range []string{`"maximum": 1152921504606846976`, `"maxLength": 500`, `"maxItems": 100`, `"until"`} {
		if !strings.Contains(string(page), bound) {
			t.Errorf("there is no %s", bound)
		}
	}
	for ref := range strings.SplitSeq(string(page), `"$ref": "#/components/schemas/`) {
		if name, _, found := strings.Cut(ref, `"`); found && !strings.Contains(name, "{") && schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

func at(seconds int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: seconds} }
