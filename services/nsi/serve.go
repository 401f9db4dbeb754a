package nsi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/services/nsi/soap"
)

// Paths of the endpoint.
const (
	soapPath      = "/nsi/v2/provider"
	discoveryPath = "/nsi/discovery"
	topologyPath  = "/nsi/topology"
)

// Handler serves the SOAP endpoint and the discovery documents. Where no certificate says who asks, pages in a browser
// of the same host are kept out.
func (c *Component) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+soapPath, c.serve)
	mux.HandleFunc("GET "+discoveryPath, c.discovery)
	mux.HandleFunc("GET "+topologyPath, c.topology)
	if c.cfg.TLS.Cert != "" {
		return mux
	}
	guard := rpc.Guard{Setting: "nsi.url", Refused: func(reason string) { c.metrics.requests.WithLabelValues("unknown", reason).Inc() }}
	if at, err := url.Parse(c.cfg.URL); err == nil {
		guard.Hosts = []string{strings.ToLower(at.Hostname())}
	}
	return guard.Wrap(mux)
}

// isXML reports whether a request is said to be SOAP 1.1. A page of a browser cannot say so without being allowed to.
func isXML(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "text/xml"
}

// asked is one request, with who asks.
type asked struct {
	header soap.Header
	soap.Request
	// repeated is set where the request was accepted before.
	repeated *bool
}

// operations are what is served, each with what it answers at once.
var operations = map[string]func(*Component, context.Context, asked) (soap.Element, *exception){
	"reserve": (*Component).reserve, "reserveCommit": (*Component).ask, "reserveAbort": (*Component).ask, "provision": (*Component).ask,
	"release": (*Component).ask, "terminate": (*Component).ask,
	"querySummary": (*Component).later, "queryRecursive": (*Component).later, "queryNotification": (*Component).later, "queryResult": (*Component).later,
	"querySummarySync": (*Component).query, "queryNotificationSync": (*Component).query, "queryResultSync": (*Component).query,
}

// serve answers a request, and counts it once.
func (c *Component) serve(w http.ResponseWriter, r *http.Request) {
	a, repeated := asked{}, false
	answer, status, no := soap.Element{}, http.StatusUnsupportedMediaType, fail(payload, "the Content-Type of a request is text/xml")
	if isXML(r) {
		if a, status, no = read(w, r); no == nil {
			a.repeated = &repeated
			status = http.StatusInternalServerError
			answer, no = c.answer(r, a)
		}
	}
	name, result := a.Operation, "accepted"
	if operations[name] == nil {
		name = "unknown"
	}
	switch {
	case no != nil:
		result = no.id
	case repeated:
		result = "repeated"
	}
	c.metrics.requests.WithLabelValues(name, result).Inc()
	if no != nil {
		c.fault(w, status, no)
		return
	}
	h := a.header
	h.ProtocolVersion, h.ReplyTo = soap.ToProvider, ""
	write(w, http.StatusOK, soap.Envelope(h, answer.Bytes()))
}

// read is the request of a body, or the status and the error to answer.
func read(w http.ResponseWriter, r *http.Request) (asked, int, *exception) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, soap.MaxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return asked{}, http.StatusRequestEntityTooLarge, fail(payload, "a request has at most %d bytes", soap.MaxBody)
	case err != nil:
		return asked{}, http.StatusBadRequest, fail(payload, "the request does not arrive")
	}
	h, m, err := soap.Read(raw)
	if err != nil {
		return asked{}, http.StatusInternalServerError, fail(payload, "%s", err)
	}
	return asked{header: h, Request: m}, http.StatusOK, nil
}

// answer does what a request says, where its sender may.
func (c *Component) answer(r *http.Request, a asked) (soap.Element, *exception) {
	if no := c.admitted(a.header, r); no != nil {
		return soap.Element{}, no
	}
	do, known := operations[a.Operation]
	if !known {
		return soap.Element{}, fail(notThere, "there is no %s", a.Operation)
	}
	return do(c, r.Context(), a)
}

func (c *Component) fault(w http.ResponseWriter, status int, no *exception) {
	code := "Client"
	if no.kind == internal {
		code = "Server"
	}
	write(w, status, soap.Fault(code, no.Error(), c.exception("t:serviceException", no)))
}

func write(w http.ResponseWriter, status int, raw []byte) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client may have disconnected
}

var uuidURN = regexp.MustCompile(`^urn:uuid:[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$`)

// admitted checks a header, and who sent it.
func (c *Component) admitted(h soap.Header, r *http.Request) *exception {
	who, known := c.cfg.Requesters[h.RequesterNSA]
	switch {
	case h.CorrelationID == "":
		return fail(missing, "correlationId is missing").with("correlationId", "")
	case h.RequesterNSA == "":
		return fail(missing, "requesterNSA is missing").with("requesterNSA", "")
	case !uuidURN.MatchString(h.CorrelationID):
		return fail(payload, "correlationId %q is no urn:uuid: with lower-case digits", h.CorrelationID).with("correlationId", h.CorrelationID)
	case h.ProtocolVersion != soap.ToProvider:
		return fail(wrongVersion, "protocolVersion is %q, and %s is served", h.ProtocolVersion, soap.ToProvider).with("protocolVersion", h.ProtocolVersion)
	case h.ProviderNSA != c.cfg.NSA:
		return fail(unsupported, "providerNSA is %q, and this is %s", h.ProviderNSA, c.cfg.NSA).with("providerNSA", h.ProviderNSA)
	case !known || c.cfg.TLS.Cert != "" && !certified(r, who.Certificate):
		return fail(unauthorized, "requesterNSA %q may not reserve here, or not with this certificate", h.RequesterNSA).with("requesterNSA", h.RequesterNSA)
	case h.ReplyTo != "" && !who.mayCall(h.ReplyTo):
		return fail(unauthorized, "callbacks of %s do not go to %s", h.RequesterNSA, h.ReplyTo).with("replyTo", h.ReplyTo)
	}
	return nil
}

// certified reports whether the certificate of a connection has a name.
func certified(r *http.Request, name string) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	own := r.TLS.PeerCertificates[0]
	if own.Subject.CommonName == name {
		return true
	}
	for _, n := range own.DNSNames {
		if n == name {
			return true
		}
	}
	return false
}
