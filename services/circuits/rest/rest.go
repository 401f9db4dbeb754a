// Package rest serves the circuit service as JSON over plain HTTP: paths of resources, RFC 3339 times, problem details
// (RFC 9457).
//
// In: HTTP requests, the google.api.http options of the service's calls, and its Connect handler. Out: JSON in the
// spelling of the .proto file; the OpenAPI document of all of it, which tools/openapi writes to
// docs/reference/circuits-openapi.json. Next: services/circuits, whose handler is called, and programs in every
// language.
package rest

import (
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// Prefix is where all routes begin.
const Prefix = "/v1/"

// Service is what is served.
type Service = circuitsv1connect.CircuitsServiceHandler

// NewHandler serves all routes, and the document that describes them. about says what a request is about.
func NewHandler(s Service, about rpc.About) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) { r.serve(w, q, s, about) })
	}
	mux.HandleFunc(document, func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, "application/json", OpenAPI()) })
	mux.HandleFunc(Prefix, func(w http.ResponseWriter, q *http.Request) { nowhere(w, q, mux) })
	return mux
}

// nowhere answers what no route is for.
func nowhere(w http.ResponseWriter, q *http.Request, mux *http.ServeMux) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodPost} {
		other := q.Clone(q.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != Prefix {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		problem{Status: http.StatusMethodNotAllowed, Code: "METHOD_NOT_ALLOWED", Detail: q.Method + " is not for " + q.URL.Path}.write(w)
		return
	}
	problem{Status: http.StatusNotFound, Code: "NOT_FOUND", Detail: "there is no " + q.URL.Path + "; see " + Prefix + "openapi.json"}.write(w)
}

func (r route) serve(w http.ResponseWriter, q *http.Request, s Service, about rpc.About) {
	in := proto.Clone(r.in)
	if err := r.read(w, q, in); err != nil {
		err.write(w)
		return
	}
	var out proto.Message
	err := rpc.Made(q.Context(), r.procedure(), in, about, w.Header(), func() (_ proto.Message, err error) {
		out, err = r.call(q.Context(), s, in)
		return out, err
	})
	if err != nil {
		problemOf(err).write(w)
		return
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(out)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	if tag := tagOf(out); tag != "" {
		w.Header().Set("ETag", tag)
		if r.method == http.MethodGet && matches(q.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	write(w, r.status, "application/json", raw)
}

func write(w http.ResponseWriter, status int, kind string, raw []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client may have disconnected
}
