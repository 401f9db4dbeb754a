package lab

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// frameType is the first byte of a frame of the guest's protocol: one TCP
// connection per order. The client sends one frameRequest and then its standard
// input; the guest sends output as it comes and ends with one frameExit. Closing
// the connection kills the program. The protocol is spoken only inside a lab,
// between two copies of the same binary, hence neither versions nor a schema.
type frameType byte

const (
	frameRequest  frameType = iota // JSON request
	frameStdin                     // bytes; an empty one is end of file
	frameStdout                    // bytes
	frameStderr                    // bytes
	frameExit                      // JSON exit
	frameSignal                    // one byte: signal number
	frameProgress                  // text: what happens now
)

const maxFrame = 16 << 20

// request is an order to the guest; exactly one field is set.
type request struct {
	Exec  *execRequest `json:"exec,omitempty"`
	Build *Plan        `json:"build,omitempty"`
	// Converge waits until every router's kernel has the routes of the plan.
	Converge *Convergence `json:"converge,omitempty"`
	// Segments turns on segment routing: lines of FRR configuration by router.
	Segments map[string]string `json:"segments,omitempty"`
	// Daemons requests the status of the nodes' daemons.
	Daemons bool `json:"daemons,omitempty"`
	// Counters requests the interfaces' counters of these namespaces.
	Counters []string `json:"counters,omitempty"`
	// Sync writes dirty pages through to the host.
	Sync bool `json:"sync,omitempty"`
}

// execRequest runs a program in a node's network namespace.
type execRequest struct {
	Node string   `json:"node"` // empty: the guest's own namespace
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	// Stdin is set if the client will send input.
	Stdin bool `json:"stdin,omitempty"`
}

// exit ends every order.
type exit struct {
	Code  int             `json:"code"`
	Error string          `json:"error,omitempty"` // the order itself failed
	Data  json.RawMessage `json:"data,omitempty"`  // answer of Daemons and Counters
}

// frames writes from several goroutines onto one connection.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) send(kind frameType, payload []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := make([]byte, 5, 5+len(payload))
	head[0] = byte(kind)
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	// One write, hence one segment and one wake-up of the other side.
	_, err := f.w.Write(append(head, payload...))
	return err
}

func (f *frames) sendJSON(kind frameType, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	return f.send(kind, raw)
}

// writer returns a stream of frames of one kind.
func (f *frames) writer(kind frameType) io.Writer { return frameWriter{f, kind} }

type frameWriter struct {
	f    *frames
	kind frameType
}

func (w frameWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), 64<<10)
		if err := w.f.send(w.kind, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

func readFrame(r io.Reader) (frameType, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes", size)
	}
	payload := make([]byte, size)
	_, err := io.ReadFull(r, payload)
	return frameType(head[0]), payload, err
}
