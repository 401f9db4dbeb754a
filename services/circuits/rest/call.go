package rest

import (
	"net/http"

	"github.com/millrace/millrace/internal/rights"
)

// document is where the OpenAPI document is.
const document = "GET /v1/openapi.json"

// patterns routes a request as NewHandler does.
var patterns, procedures = func() (*http.ServeMux, map[string]string) {
	mux, of := http.NewServeMux(), map[string]string{}
	for _, r := range routes {
		mux.Handle(r.method+" "+r.path, http.NotFoundHandler())
		of[r.method+" "+r.path] = r.procedure()
	}
	mux.Handle(document, http.NotFoundHandler())
	return mux, of
}()

// Call is the call that a request makes. The document is open; what no route is for is refused to those who may not
// read.
func Call(r *http.Request) rights.Call {
	_, pattern := patterns.Handler(r)
	if procedure, ok := procedures[pattern]; ok {
		return rights.Of(procedure)
	}
	if pattern == document {
		return rights.Page(r.URL.Path, rights.Nobody)
	}
	return rights.Page(r.URL.Path, rights.Viewer)
}
