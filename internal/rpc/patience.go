package rpc

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/rights"
)

// BodyPatience is how long a port waits for the body of a stranger's request, and for the next octets of a known
// caller's.
const BodyPatience = 20 * time.Second

// HeaderPatience is how long a port waits for the whole header of a request, and for a handshake: as long as nginx does
// (client_header_timeout). net/http answers a header that is late in the middle of a line with 400, as if its sender
// had written nonsense, so a short wait refuses honest clients where a machine is slow.
const HeaderPatience = time.Minute

// Server is of a port with HTTP/1.1 and HTTP/2 that waits so long for headers.
func Server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, Protocols: Protocols(), ReadHeaderTimeout: HeaderPatience}
}

// Patient ends requests whose bodies do not come. Without it who has no login holds a connection for ever by a request
// of which the last octet is missing: also one that is refused, because the server reads on before it answers.
type Patient struct {
	// Body is how long a body may take; 0: BodyPatience.
	Body time.Duration
}

// Wrap is for a whole port. The body has to be whole in time unless a Gate lets the request through for a caller that
// it knows.
func (p Patient) Wrap(next http.Handler) http.Handler {
	if p.Body == 0 {
		p.Body = BodyPatience
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A request in chunks may have had a Content-Length too, which net/http removes. Nothing more is read on its
		// connection (RFC 9112, section 6.1): a proxy that obeyed the length takes what follows for the body.
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &timedBody{ReadCloser: r.Body, set: http.NewResponseController(w).SetReadDeadline, patience: p.Body}
		b.extend()
		timed := *r // the server looks at its own request when it ends it
		timed.Body = b
		next.ServeHTTP(w, &timed)
	})
}

// timedBody is a body with a deadline, which is lifted once it is whole: the server reads on to see whether its client
// leaves.
type timedBody struct {
	io.ReadCloser
	set      func(time.Time) error
	patience time.Duration
	// known is a caller's that may take longer as long as something comes; streams is of calls that wait for a sender.
	known, streams bool
}

// Read implements io.Reader.
func (b *timedBody) Read(into []byte) (int, error) {
	if b.known && !b.streams {
		b.extend()
	}
	n, err := b.ReadCloser.Read(into)
	if errors.Is(err, io.EOF) {
		b.lift()
	}
	return n, err
}

// extend and lift leave the deadline as it is where the server has none, as in tests without a connection.
func (b *timedBody) extend() { _ = b.set(time.Now().Add(b.patience)) }

func (b *timedBody) lift() { _ = b.set(time.Time{}) }

// trusted is for a request that was let through: its caller may take longer. Of a stream the sender may pause for as
// long as it likes.
func trusted(r *http.Request, call rights.Call) {
	b, timed := r.Body.(*timedBody)
	if !timed {
		return
	}
	b.known, b.streams = true, call.Streams
	if b.streams {
		b.lift()
	}
}
