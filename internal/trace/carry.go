package trace

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Transport sends the trace of a request's context with it, and has a span of the call until its headers come back.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := Child(r.Context(), "call "+r.URL.Path)
	if !span.Sent() {
		return t.next.RoundTrip(r)
	}
	r = r.Clone(ctx)
	r.Header.Set(header, Parent(ctx))
	answer, err := t.next.RoundTrip(r)
	span.End(failure(err, answer))
	return answer, err
}

// CloseIdleConnections is what http.Client asks of a transport.
func (t transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// failure is the error of a call, or its answer's status where that is one.
func failure(err error, answer *http.Response) error {
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		return errors.New(answer.Status)
	}
	return err
}

// Handler has a span of each request, in the trace that came with it. Where none came it begins one for what changes
// something: a page that asks every second would bury the rest.
func Handler(next http.Handler, begins func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !On() {
			next.ServeHTTP(w, r)
			return
		}
		ctx := Resume(r.Context(), r.Header.Get(header))
		start := Child
		if begins(r) {
			start = Root
		}
		ctx, span := start(ctx, "serve "+r.URL.Path)
		if !span.Sent() {
			next.ServeHTTP(w, r)
			return
		}
		status := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(status, r.WithContext(ctx))
		span.End(failure(nil, &http.Response{StatusCode: status.code, Status: http.StatusText(status.code)}))
	})
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush streams.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, which Connect asks of a writer of streams.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unary sends the trace with a gRPC call, and has a span of it.
func Unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx, span := Child(ctx, "call "+method)
	if !span.Sent() {
		return call(ctx, method, request, reply, conn, options...)
	}
	span.Set("server.address", conn.Target())
	err := call(metadata.AppendToOutgoingContext(ctx, header, Parent(ctx)), method, request, reply, conn, options...)
	span.End(wrong(err))
	return err
}

// wrong is err unless it says that something asked for is not there, which is an answer.
func wrong(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// ServeUnary has a span of a gRPC call that came with a trace.
func ServeUnary(ctx context.Context, request any, of *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if came := metadata.ValueFromIncomingContext(ctx, header); On() && len(came) > 0 {
		ctx = Resume(ctx, came[0])
	}
	ctx, span := Child(ctx, "serve "+of.FullMethod)
	answer, err := handler(ctx, request)
	span.End(wrong(err))
	return answer, err
}
