package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// problem is an answer of application/problem+json.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is for programs, Field the part of the request that is wrong.
	Code  string `json:"code"`
	Field string `json:"field,omitempty"`
	// Refusal says what blocks a circuit, and what would fit.
	Refusal json.RawMessage `json:"refusal,omitempty"`
}

// statuses of errors; a quota is no rate limit, so it is not 429.
var statuses = map[connect.Code]int{
	connect.CodeInvalidArgument: http.StatusBadRequest, connect.CodePermissionDenied: http.StatusForbidden, connect.CodeNotFound: http.StatusNotFound,
	connect.CodeAlreadyExists: http.StatusConflict, connect.CodeFailedPrecondition: http.StatusConflict, connect.CodeResourceExhausted: http.StatusConflict,
	connect.CodeAborted: http.StatusConflict, connect.CodeUnavailable: http.StatusServiceUnavailable, connect.CodeCanceled: http.StatusServiceUnavailable,
}

// names are the codes of errors that are no refusals.
var names = map[connect.Code]string{
	connect.CodeNotFound: "NOT_FOUND", connect.CodeAlreadyExists: "REQUEST_ID_IN_USE", connect.CodeFailedPrecondition: "STATE",
	connect.CodeUnavailable: "UNAVAILABLE", connect.CodeCanceled: "UNAVAILABLE", connect.CodeAborted: "CONFLICT",
}

func problemOf(err error) problem {
	var c *connect.Error
	if !errors.As(err, &c) {
		return problem{Status: http.StatusInternalServerError, Code: "INTERNAL", Detail: err.Error()}
	}
	p := problem{Status: statuses[c.Code()], Code: names[c.Code()], Detail: c.Message()}
	if p.Status == 0 {
		p.Status, p.Code = http.StatusInternalServerError, "INTERNAL"
	}
	for _, d := range c.Details() {
		m, err := d.Value()
		no, ok := m.(*circuitsv1.Refusal)
		if err != nil || !ok {
			continue
		}
		p.Code, p.Field = no.GetCode(), no.GetField()
		if p.Code == "OUTDATED" {
			p.Status = http.StatusPreconditionFailed
		}
		if p.Refusal, err = (protojson.MarshalOptions{UseProtoNames: true}).Marshal(no); err != nil {
			p.Refusal = nil
		}
	}
	return p
}

// Unavailable answers for a service that does not answer itself.
func Unavailable(w http.ResponseWriter, err error) {
	problem{Status: http.StatusServiceUnavailable, Code: names[connect.CodeUnavailable], Detail: err.Error()}.write(w)
}

func (p problem) write(w http.ResponseWriter) {
	p.Type, p.Title = "urn:millrace:circuits:"+p.Code, http.StatusText(p.Status)
	raw, err := json.Marshal(p)
	if err != nil {
		raw = []byte(`{"status":500}`)
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	write(w, p.Status, "application/problem+json", raw)
}
