package probe

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/rights"
)

// bomb is octets that grow as they are decompressed, beyond what any call takes: 64 MiB of zeros.
var bomb = func() []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for range 64 {
		_, _ = z.Write(make([]byte, 1<<20)) // into memory
	}
	_ = z.Close()
	return out.Bytes()
}()

// body is one that no call takes, or that none takes for good.
type body struct {
	kind, encoding string
	raw            []byte
}

var bodies = map[string]body{
	"nothing":                  {"application/json", "", nil},
	"a list":                   {"application/json", "", []byte("[]")},
	"a null":                   {"application/json", "", []byte("null")},
	"half an object":           {"application/json", "", []byte(`{"a":`)},
	"a field there is not":     {"application/json", "", []byte(`{"__proto__":{"a":1}}`)},
	"invalid UTF-8":            {"application/json", "", []byte("{\"name\":\"\xff\xfe\"}")},
	"a lone surrogate":         {"application/json", "", []byte(`{"name":"\ud800"}`)},
	"a long number":            {"application/json", "", []byte(`{"limit":` + strings.Repeat("9", 100_000) + `}`)},
	"deep lists":               {"application/json", "", []byte(strings.Repeat("[", 200_000))},
	"deep objects":             {"application/json", "", []byte(strings.Repeat(`{"a":`, 200_000))},
	"a field twice":            {"application/json", "", []byte(`{"name":"a","name":"b"}`)},
	"JSON as protobuf":         {"application/proto", "", []byte(`{"name":"a"}`)},
	"a cut field":              {"application/proto", "", []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}},
	"a long tag":               {"application/proto", "", bytes.Repeat([]byte{0xff}, 100)},
	"deep groups":              {"application/proto", "", bytes.Repeat([]byte{0x0b}, 200_000)},
	"deep messages":            {"application/proto", "", deep(20_000)},
	"invalid UTF-8, protobuf":  {"application/proto", "", []byte{0x0a, 0x02, 0xff, 0xfe}},
	"a bomb":                   {"application/proto", "gzip", bomb},
	"a bomb of JSON":           {"application/json", "gzip", bomb},
	"no gzip":                  {"application/json", "gzip", []byte("{}")},
	"another compression":      {"application/json", "br", []byte("{}")},
	"a form":                   {"application/x-www-form-urlencoded", "", []byte("a=b")},
	"XML with an entity":       {"application/xml", "", []byte(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`)},
	"files":                    {"multipart/form-data; boundary=a", "", []byte("--a\r\n\r\nb\r\n--a--")},
	"another character set":    {"application/json; charset=utf-7", "", []byte("{}")},
	"a type of letters":        {"application/json\u00e9", "", []byte("{}")},
	"a stream's cut frame":     {"application/connect+proto", "", []byte{0, 0xff, 0xff, 0xff, 0xff}},
	"a stream's unknown flags": {"application/connect+proto", "", []byte{0xff, 0, 0, 0, 0}},
	"a stream's end alone":     {"application/connect+json", "", []byte{2, 0, 0, 0, 2, '{', '}'}},
	"a web frame's trailer":    {"application/grpc-web+proto", "", []byte{0x80, 0xff, 0xff, 0xff, 0xff}},
	"gRPC of another time":     {"application/grpc+proto", "", []byte{0, 0, 0, 0, 0}},
}

// deep is a message in a message, so many times, as field 1.
func deep(n int) (out []byte) {
	for range n {
		out = append(out, 0x0a, 0x7f)
	}
	return out
}

// bodies that nobody should send make no call fail, and with no login they are not looked at.
func (w *world) bodies(t *testing.T) {
	for _, c := range calls() {
		for name, b := range bodies {
			header := map[string]string{"Content-Type": b.kind}
			if b.encoding != "" {
				header["Content-Encoding"] = b.encoding
			}
			q := request{method: "POST", target: c.Procedure, token: w.viewer, header: header, body: b.raw}
			if a := w.listen(t, q, c); a.status == http.StatusOK && !c.Streams && b.encoding == "gzip" && c.Needs <= rights.Viewer {
				t.Errorf("%s: %s is taken", c.Procedure, name)
			}
			q.token = ""
			if c.Needs != rights.Nobody {
				if a := w.ask(t, q); !w.unknown(a) {
					t.Errorf("%s: %s without a login: %d %.200s", c.Procedure, name, a.status, a.body)
				}
			}
		}
	}
	for _, c := range calls() { // larger than any call takes at once
		if c.Needs == rights.Viewer && !c.Streams {
			a := w.ask(t, request{method: "POST", target: c.Procedure, token: w.viewer, header: map[string]string{"Content-Type": "application/proto"}, body: make([]byte, 9<<20)})
			if a.status != http.StatusTooManyRequests && a.status != http.StatusBadRequest {
				t.Errorf("%s with 9 MiB: %d %.200s", c.Procedure, a.status, a.body)
			}
		}
	}
}
