package probe

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/program"
)

// shapes are requests that net/http does not write. Each is followed by another one on its connection: smuggled is that
// more is answered than was asked. want has the statuses that may come back; none: only that it is answered or closed.
var shapes = map[string]struct {
	raw  string
	want []int
}{
	"both lengths":               {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", nil},
	"both lengths, other order":  {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nGPOST / HTTP/1.1\r\n\r\n", nil},
	"two lengths":                {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", []int{400}},
	"a list of lengths":          {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3, 5\r\n\r\nabcde", []int{400}},
	"a negative length":          {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", []int{400}},
	"a signed length":            {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +3\r\n\r\nabc", []int{400}},
	"a huge length":              {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", []int{400}},
	"another encoding":           {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", []int{501}},
	"two encodings":              {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", []int{400, 501}},
	"a space before the colon":   {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", []int{400}},
	"an encoding with a tab":     {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", []int{400, 501}},
	"an encoding over HTTP/1.0":  {"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", nil},
	"a negative chunk":           {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", nil},
	"a huge chunk":               {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n\r\n", nil},
	"a folded header":            {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n", nil},
	"a return in a header":       {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rSet-Cookie: b\r\n\r\n", []int{400}},
	"a zero in a header":         {"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n", []int{400}},
	"no host":                    {"GET / HTTP/1.1\r\n\r\n", []int{400}},
	"no host over HTTP/1.0":      {"GET / HTTP/1.0\r\n\r\n", []int{421}},
	"two hosts":                  {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", []int{400}},
	"another host in the target": {"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{421}},
	"a file as target":           {"GET file:///etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{400, 404, 421}},
	"dots in the target":         {"GET /../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{301, 307, 400, 404}},
	"no slash in the target":     {"GET etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{400}},
	"a tunnel to a site":         {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", []int{421}},
	"a tunnel to this host":      {"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", []int{400, 404, 405}},
	"a tunnel to a path":         {"CONNECT / HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{400, 404, 405}},
	"a trace":                    {"TRACE / HTTP/1.1\r\nHost: localhost\r\nX-Secret: echoed\r\n\r\n", []int{405}},
	"a websocket":                {"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", []int{200}},
	"a websocket to a stream":    {"GET /millrace.event.v1.EventService/Watch HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", []int{401}},
	"HTTP/2 by an upgrade":       {"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n", []int{200}},
	"another version":            {"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", []int{400, 505}},
	"no HTTP":                    {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
	"a broken HTTP/2":            {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", nil},
	"many headers":               {"GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: a\r\n", 300_000) + "\r\n", []int{431}},
	"a long target":              {"GET /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{414, 431}},
}

// asked follows each shape on its connection; only what is sent as a request of its own is answered.
const asked = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

// wire sends each shape on a connection of its own, all at once, and says that nothing more comes.
func (w *world) wire(t *testing.T) {
	answers := map[string]chan []answer{}
	for name, s := range shapes {
		c, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(program.Patience)); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(c, s.raw+asked) // the port may close before it has taken all
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		answers[name] = make(chan []answer, 1)
		into := answers[name]
		go func() { into <- answersOn(c) }()
	}
	for name, s := range shapes {
		if got := <-answers[name]; !strings.HasPrefix(s.raw, "PRI") { // HTTP/2 has frames for answers; that the port is there is seen at the end
			w.judgeWire(t, name, s.want, got)
		}
	}
}

func (w *world) judgeWire(t *testing.T, name string, want []int, answers []answer) {
	t.Helper()
	if len(answers) == 0 && len(want) > 0 && want[0] != 431 && want[0] != 414 { // a reset may overtake the answer to what is not read whole
		t.Errorf("%s: no answer, want %v", name, want)
	}
	for i, a := range answers {
		if i == 0 && len(want) > 0 && !slices.Contains(want, a.status) {
			t.Errorf("%s: %d %v %.300s, want %v", name, a.status, a.header, a.body, want)
		}
		if a.status == http.StatusSwitchingProtocols || strings.Contains(string(a.body), "echoed") || a.header.Get("Set-Cookie") != "" || inside.Match(a.body) && a.status >= 400 {
			t.Errorf("%s: %d %v %.300s", name, a.status, a.header, a.body)
		}
	}
	both := strings.HasPrefix(name, "both lengths")
	if len(answers) > 2 || both && len(answers) > 1 {
		t.Errorf("%s: %d answers, and a proxy before the port may have sent one request", name, len(answers))
	}
}

// answersOn are all that come on a connection until it is closed.
func answersOn(c io.Reader) (out []answer) {
	in := bufio.NewReader(c)
	for {
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			return out
		}
		raw, err := io.ReadAll(got.Body)
		got.Body.Close()
		out = append(out, answer{got.StatusCode, got.Header, raw})
		if err != nil {
			return out
		}
	}
}

// slowly are requests of which something never comes.
var slowly = map[string]string{
	"nothing":                   "",
	"half a request line":       "GET /heal",
	"half a head":               "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a",
	"no body to a page":         "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\na",
	"no body to an open call":   "POST /millrace.identity.v1.IdentityService/Login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
	"no body to a call":         "POST /millrace.push.v1.ChangeService/List HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
	"no body to a stream":       "POST /millrace.flow.v1.FlowCollectorService/Import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/connect+proto\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
	"no body to a refused site": "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 10\r\n\r\na",
}

// holdOpen opens connections by which strangers could hold the port for ever, and returns a check that it has ended
// each.
func (w *world) holdOpen(t *testing.T) func(*testing.T) {
	t.Helper()
	ended := map[string]chan error{}
	for name, raw := range slowly {
		c, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, raw); err != nil {
			t.Fatal(err)
		}
		end := make(chan error, 1)
		ended[name] = end
		go func() { _, err := io.Copy(io.Discard, c); end <- err }()
	}
	return func(t *testing.T) {
		deadline := time.After(program.Patience)
		for name, end := range ended {
			select {
			case <-end:
			case <-deadline:
				t.Errorf("%s: the port has not ended the connection", name)
			}
		}
	}
}
