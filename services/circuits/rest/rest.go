// Package rest serves the circuit service as JSON over plain HTTP: paths of resources, RFC 3339 times, problem details
// (RFC 9457).
//
// In: HTTP requests, and the Connect handler of the service. Out: JSON in the spelling of the .proto file; the OpenAPI
// document of all of it, which tools/openapi writes to docs/reference/circuits-openapi.json. Next: services/circuits,
// whose handler is called, and programs in every language.
package rest

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// Prefix is where all routes begin.
const Prefix = "/v1/"

// Service is what is served.
type Service = circuitsv1connect.CircuitsServiceHandler

// route is one row of the table: what of HTTP is which call.
type route struct {
	method, path, name, summary string
	// status of success.
	status int
	// in and out are empty messages of the call.
	in, out proto.Message
	call    func(context.Context, Service, proto.Message) (proto.Message, error)
}

var routes = []route{
	unary("POST", "/v1/quotes", "Quote", "What a request would get, without booking", http.StatusOK, Service.Quote),
	unary("POST", "/v1/circuits", "Request", "Hold capacity for a circuit", http.StatusCreated, Service.Request),
	unary("GET", "/v1/circuits", "List", "List circuits, page by page", http.StatusOK, Service.List),
	unary("GET", "/v1/circuits/{id}", "Get", "One circuit", http.StatusOK, Service.Get),
	unary("PATCH", "/v1/circuits/{id}", "Modify", "Another rate, end or path", http.StatusOK, Service.Modify),
	unary("POST", "/v1/reoptimisations", "Reoptimise", "Better paths for circuits, found and booked", http.StatusOK, Service.Reoptimise),
	unary("POST", "/v1/batches", "RequestAll", "Hold capacity for several circuits, or for several windows: all of them or none", http.StatusCreated, Service.RequestAll),
	unary("POST", "/v1/circuits/{id}/commit", "Commit", "Book what is held", http.StatusOK, Service.Commit),
	unary("POST", "/v1/circuits/{id}/extend", "Extend", "Hold for longer", http.StatusOK, Service.Extend),
	unary("POST", "/v1/circuits/{id}/release", "Release", "Give a circuit up", http.StatusOK, Service.Release),
	unary("POST", "/v1/circuits/{id}/activate", "Activate", "Let a circuit onto routers", http.StatusOK, Service.Activate),
	unary("POST", "/v1/circuits/{id}/deactivate", "Deactivate", "Take a circuit off routers, and keep it booked", http.StatusOK, Service.Deactivate),
	unary("GET", "/v1/circuits/{id}/usage", "Usage", "What a circuit sent over time", http.StatusOK, Service.Usage),
	unary("GET", "/v1/projects/{project}/statement", "Statement", "What the circuits of a project booked, carried and missed", http.StatusOK, Service.Statement),
	unary("GET", "/v1/projects/{project}/quota", "Quota", "What a project may have, and what it has of it", http.StatusOK, Service.Quota),
	unary("GET", "/v1/projects/{project}/proposals", "Proposals", "Circuits that a project might request for huge transfers that were seen", http.StatusOK, Service.Proposals),
	unary("GET", "/v1/calendar", "Calendar", "What is free on links over time", http.StatusOK, Service.Calendar),
	unary("POST", "/v1/maintenance", "AddMaintenance", "Plan that links are out or have less, and see which circuits have to leave", http.StatusOK, Service.AddMaintenance),
	unary("GET", "/v1/maintenance", "ListMaintenance", "What is planned; with an id also which circuits it still hits", http.StatusOK, Service.ListMaintenance),
	unary("POST", "/v1/maintenance/{id}/remove", "RemoveMaintenance", "Give links their capacity back", http.StatusOK, Service.RemoveMaintenance),
}

// message is a pointer to a generated struct.
type message[T any] interface {
	*T
	proto.Message
}

func unary[In, Out any, PIn message[In], POut message[Out]](method, path, name, summary string, status int,
	call func(Service, context.Context, *connect.Request[In]) (*connect.Response[Out], error)) route {
	return route{
		method: method, path: path, name: name, summary: summary, status: status, in: PIn(new(In)), out: POut(new(Out)),
		call: func(ctx context.Context, s Service, m proto.Message) (proto.Message, error) {
			r, err := call(s, ctx, connect.NewRequest((*In)(m.(PIn))))
			if err != nil {
				return nil, err
			}
			return POut(r.Msg), nil
		},
	}
}

// NewHandler serves all routes, and the document that describes them.
func NewHandler(s Service) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) { r.serve(w, q, s) })
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

func (r route) serve(w http.ResponseWriter, q *http.Request, s Service) {
	in := proto.Clone(r.in)
	if err := r.read(w, q, in); err != nil {
		err.write(w)
		return
	}
	var out proto.Message
	err := rpc.Made(q.Context(), "/"+circuitsv1connect.CircuitsServiceName+"/"+r.name, in, nil, w.Header(), func() (_ proto.Message, err error) {
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
