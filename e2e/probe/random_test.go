package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/program"
)

// listens is how long a stream is listened to that may be open: many never end.
const listens = 300 * time.Millisecond

// random makes every call with messages that its type allows. What the caller may not do is refused, and nothing fails.
func (w *world) random(t *testing.T, token string, each int) {
	role := map[string]rights.Role{w.viewer: rights.Viewer, w.admin: rights.Admin}[token]
	for _, c := range calls() {
		seed := fnv.New64()
		_, _ = io.WriteString(seed, c.Procedure) // a hash takes all
		s, in := newSource(seed.Sum64()), inputOf(t, c)
		n := each
		if c.Streams {
			n = 3
		}
		for range n {
			m, raw := s.encoded(in)
			q := request{method: "POST", target: c.Procedure, token: token, header: map[string]string{"Content-Type": "application/proto"}, body: raw}
			if c.Streams {
				q.header["Content-Type"], q.body = "application/connect+proto", framed(raw)
			}
			begin := time.Now()
			a := w.listen(t, q, c)
			if took := time.Since(begin); took > time.Second {
				t.Logf("%s took %s for %.500s", c.Procedure, took, prototext.Format(m))
			}
			no := strings.Contains(string(a.body), `"code":"permission_denied"`)
			if c.Needs > role != no && c.Needs > role {
				t.Errorf("%s, which needs %s: %d %.300s", c.Procedure, rights.Name(c.Needs), a.status, a.body)
			}
			if t.Failed() {
				t.Logf("asked %.1000s", prototext.Format(m))
			}
		}
		if w.up.Ended() {
			t.Fatalf("the process ended by %s", c.Procedure)
		}
	}
}

// listen asks, and of a stream takes what comes at once: its end has the code.
func (w *world) listen(t *testing.T, q request, c rights.Call) answer {
	t.Helper()
	if !c.Streams {
		return w.ask(t, q)
	}
	patience := listens
	if q.token == "" && c.Needs != rights.Nobody || q.token == w.viewer && c.Needs > rights.Viewer { // it is refused
		patience = program.Patience
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := w.send(ctx, q)
	if errors.Is(err, context.DeadlineExceeded) {
		return a
	}
	if err != nil {
		t.Errorf("%s: %v", c.Procedure, err)
		return a
	}
	for _, wrong := range []string{"internal", "unknown", "data_loss"} {
		at := strings.Index(string(a.body), `"code":"`+wrong+`"`)
		if at >= 0 && !strings.Contains(string(a.body[at:]), `"message":"`+protocolError) {
			t.Errorf("%s: %q", c.Procedure, a.body)
		}
	}
	if a.status != http.StatusOK {
		for _, bad := range judge(a) {
			t.Errorf("%s: %s", c.Procedure, bad)
		}
	}
	return a
}

// framed is a message of a stream of Connect.
func framed(raw []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))), raw...)
}

func inputOf(t *testing.T, c rights.Call) protoreflect.MessageType {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(path.Dir(c.Procedure)[1:]))
	if err != nil {
		t.Fatal(err)
	}
	m := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(path.Base(c.Procedure)))
	in, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	return in
}
