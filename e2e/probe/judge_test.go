package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// inside are signs of what no answer tells: stack traces, sources, files of the host, and versions of what is used.
var inside = regexp.MustCompile(`goroutine \d+|\.go:\d+|runtime error|panic:|root:x:0|/work/|github\.com/|google\.golang\.org|\bgo1\.\d|nil pointer`)

// judge is what is wrong with an answer, whatever was asked.
func judge(a answer) (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if code := failure(a); code != "" {
		say("a part failed: %s", code)
	}
	h := a.header
	for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
		if !strings.Contains(h.Get(name), want) {
			say("%s is %q", name, h.Get(name))
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") || name == "Server" || name == "X-Powered-By" {
			say("there is the header %s", name)
		}
	}
	if to := h.Get("Location"); to != "" && !local(to) {
		say("it leads to %q", to)
	}
	for _, c := range h.Values("Set-Cookie") {
		if wrong := judgeCookie(c); wrong != "" {
			say("%s", wrong)
		}
	}
	// Pages that need a login tell of the inside on purpose: what is said in errors is judged.
	if found := inside.Find(a.body); found != nil && a.status >= 400 {
		say("it tells of the inside: %q", found)
	}
	return bad
}

// protocolError begins what Connect says of frames that are cut or have unknown flags. Its code is INTERNAL, because
// gRPC has no better one.
const protocolError = "protocol error: "

// failure is the sign that a part failed rather than refused: a status or a code that says that it is not the sender's
// fault. UNAVAILABLE is of what is not there yet, and UNIMPLEMENTED of what is not offered.
func failure(a answer) string {
	var problem struct{ Code, Message string }
	_ = json.Unmarshal(a.body, &problem) // not every answer is one
	for _, wrong := range []string{"internal", "unknown", "data_loss", "INTERNAL"} {
		if problem.Code == wrong {
			return problem.Code + ": " + problem.Message
		}
	}
	cut := strings.HasPrefix(a.header.Get("Grpc-Message"), protocolError)
	switch a.header.Get("Grpc-Status") {
	case "2", "13", "15":
		if cut {
			return ""
		}
		return "gRPC " + a.header.Get("Grpc-Status") + ": " + a.header.Get("Grpc-Message")
	}
	switch a.status {
	case http.StatusNotImplemented, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if problem.Code == "" {
			return fmt.Sprintf("%d without a code", a.status)
		}
		return ""
	}
	if a.status >= 500 || a.status < 200 {
		return fmt.Sprint(a.status)
	}
	return ""
}

// local reports whether browsers stay at the port when they follow a redirect.
func local(to string) bool {
	u, err := url.Parse(strings.ReplaceAll(to, `\`, "/")) // as browsers read it
	return err == nil && u.Host == "" && u.Scheme == "" && !strings.HasPrefix(strings.ReplaceAll(to, `\`, "/"), "//")
}

func judgeCookie(c string) string {
	if !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") || !strings.Contains(c, "Path=/") || strings.Contains(c, "Domain=") {
		return "the cookie is " + c
	}
	return ""
}

func TestWhatIsWrongWithAnswers(t *testing.T) {
	good := func() answer {
		return answer{200, http.Header{"Content-Security-Policy": {"x; frame-ancestors 'none'"}, "X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"no-referrer"}}, nil}
	}
	for name, tt := range map[string]struct {
		change func(*answer)
		wrong  int
	}{
		"nothing":          {func(*answer) {}, 0},
		"refused":          {func(a *answer) { a.status, a.body = 403, []byte(`{"code":"permission_denied"}`) }, 0},
		"not there yet":    {func(a *answer) { a.status, a.body = 503, []byte(`{"code":"unavailable"}`) }, 0},
		"failed":           {func(a *answer) { a.status, a.body = 500, []byte(`{"code":"internal"}`) }, 1},
		"failed over gRPC": {func(a *answer) { a.header.Set("Grpc-Status", "13") }, 1},
		"cut over gRPC": {func(a *answer) {
			a.header = a.header.Clone()
			a.header.Set("Grpc-Status", "13")
			a.header.Set("Grpc-Message", "protocol error: x")
		}, 0},
		"refused over gRPC":   {func(a *answer) { a.header.Set("Grpc-Status", "7") }, 0},
		"away without a code": {func(a *answer) { a.status = 503 }, 1},
		"a bare 500":          {func(a *answer) { a.status = 500 }, 1},
		"another protocol":    {func(a *answer) { a.status = 101 }, 1},
		"framed":              {func(a *answer) { a.header.Del("Content-Security-Policy") }, 1},
		"sniffed":             {func(a *answer) { a.header.Del("X-Content-Type-Options") }, 1},
		"open to sites":       {func(a *answer) { a.header.Set("Access-Control-Allow-Origin", "*") }, 1},
		"a server's name":     {func(a *answer) { a.header.Set("Server", "x") }, 1},
		"a trace":             {func(a *answer) { a.status, a.body = 400, []byte("x.go:12") }, 1},
		"away to a site":      {func(a *answer) { a.header.Set("Location", `/\evil.example`) }, 1},
		"to a page":           {func(a *answer) { a.header.Set("Location", "/v1/docs/") }, 0},
		"a cookie of scripts": {func(a *answer) { a.header.Set("Set-Cookie", "a=b; Path=/; SameSite=Strict") }, 1},
	} {
		a := good()
		tt.change(&a)
		if bad := judge(a); len(bad) != tt.wrong {
			t.Errorf("%s: %q, want %d", name, bad, tt.wrong)
		}
	}
}
