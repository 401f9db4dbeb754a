package probe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/rights"
)

// traps are what scanners look for, and is not there: none is answered with a page.
var traps = []string{
	"/.git/config", "/.git/HEAD", "/.env", "/.aws/credentials", "/.ssh/id_rsa", "/.htaccess", "/.DS_Store", "/.well-known/security.txt", "/.gitkeep",
	"/etc/passwd", "/proc/self/environ", "/millrace.yaml", "/inventory.yaml", "/config.json", "/package.json", "/backup.zip", "/dump.sql", "/main.go",
	"/admin", "/login", "/console", "/wp-login.php", "/phpinfo.php", "/server-status", "/actuator/env", "/actuator/heapdump", "/debug/vars", "/debug/requests",
	"/graphql", "/swagger.json", "/openapi.json", "/swagger-ui/", "/api", "/api/v1", "/jenkins/", "/solr/", "/cgi-bin/test.cgi", "/xmlrpc.php",
	"/../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cetc/passwd", "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
	"/assets/..%2f..%2f..%2f..%2fetc%2fpasswd", "/....//....//etc/passwd", "/%252e%252e/etc/passwd", "/assets/%00", "/index.html%00.svg", "/%c0%ae%c0%ae/etc/passwd",
	"/etc/passwd%00.svg", "/assets/", "/assets", "/v1/docs/..%2f..%2f", "/v1/docs/none", "/?file=../../etc/passwd/none", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.health.v1.Health/Check", "/latest/meta-data/", "/%0d%0aSet-Cookie:%20a=b", "/x?y=%0d%0aSet-Cookie:%20a=b", "/$%7bjndi:ldap://127.0.0.1/a%7d", "/%7b%7b7*7%7d%7d",
}

// gated are pages that need a role: what a stranger and a viewer get.
var gated = map[string][2]int{
	"/metrics": {401, 200}, "/version": {401, 200}, "/replicas": {401, 200}, "/papers.json": {401, 200}, "/papers/..%2f..%2fetc%2fpasswd.svg": {401, 404},
	"/papers/%2e%2e": {401, 404}, "/papers/a%00.svg": {401, 404}, "/debug/pprof/": {401, 403}, "/debug/pprof/heap": {401, 403}, "/debug/pprof/cmdline": {401, 403}, "/debug/log-level": {401, 403},
	"/v1/none": {401, 404}, "/v1/circuits/..%2f..%2fetc": {401, 404}, "/v1/circuits": {401, 200},
}

// open are pages that need no login.
var open = []string{"/", "/healthz", "/ready", "/readyz", "/v1/openapi.json", "/v1/docs/"}

// pages that are not there are nowhere, those of people ask for a login, and none leads anywhere else.
func (w *world) pages(t *testing.T) {
	for _, target := range traps {
		a := w.ask(t, request{method: "GET", target: target})
		if a.status < 300 && !strings.HasPrefix(target, "/?") || a.header.Get("Set-Cookie") != "" {
			t.Errorf("GET %s: %d %.200s", target, a.status, a.body)
		}
	}
	for target, want := range gated {
		for i, token := range []string{"", w.viewer} {
			if a := w.ask(t, request{method: "GET", target: target, token: token}); a.status != want[i] {
				t.Errorf("GET %s, with a login %v: %d %.200s, want %d", target, token != "", a.status, a.body, want[i])
			}
		}
	}
	for _, target := range open {
		if a := w.ask(t, request{method: "GET", target: target}); a.status != http.StatusOK {
			t.Errorf("GET %s: %d %.200s", target, a.status, a.body)
		}
	}
	for _, target := range []string{"//evil.example/%2e%2e", "//evil.example", `/\evil.example`, "/%5cevil.example/..", "//evil.example/v1/docs", "/v1/docs", "/index.html", "/v1/docs/index.html", "/?next=http://evil.example", "/http:/evil.example", "/debug/pprof"} {
		w.ask(t, request{method: "GET", target: target})
	}
}

// methods that nothing here has are refused, on every page and call.
func (w *world) methods(t *testing.T) {
	targets := append([]string{"/assets/none.js", "/metrics", "/version", "/papers.json"}, open...)
	for _, target := range targets {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "TRACK", "DEBUG", "PROPFIND", "MOVE", "OPTIONS", "G3T"} {
			a := w.ask(t, request{method: method, target: target, token: w.viewer})
			// A page is 405 by the file server, and 404 by a pattern that has its method.
			if a.status != http.StatusMethodNotAllowed && a.status != http.StatusNotFound {
				t.Errorf("%s %s: %d %.200s", method, target, a.status, a.body)
			}
		}
	}
	for _, c := range calls() {
		for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"} {
			target := c.Procedure
			if method == "GET" { // as Connect writes calls without side effects
				target += "?connect=v1&encoding=json&message=%7B%7D"
			}
			a := w.ask(t, request{method: method, target: target, cookie: w.cookie})
			barred := c.Needs > rights.Admin && a.status == http.StatusForbidden
			if a.status != http.StatusMethodNotAllowed && a.status != http.StatusUnsupportedMediaType && !barred {
				t.Errorf("%s %s: %d %.200s", method, target, a.status, a.body)
			}
		}
	}
}

// origins of other sites, and names that their DNS may point here, get nothing: neither with a session nor without.
func (w *world) origins(t *testing.T) {
	for _, c := range calls() {
		for _, header := range []map[string]string{{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}} {
			header["Content-Type"] = "application/json"
			a := w.ask(t, request{method: "POST", target: c.Procedure, cookie: w.cookie, header: header, body: []byte("{}")})
			if a.status != http.StatusForbidden || !strings.Contains(string(a.body), "cross-origin") {
				t.Errorf("%s from %v: %d %.200s", c.Procedure, header, a.status, a.body)
			}
		}
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "evil.example#localhost", "[::1].evil.example", "0x7f.1", "127.1", "2130706433"} {
		for _, target := range []string{"/", "/healthz", "/metrics", "/v1/circuits", "/millrace.push.v1.ChangeService/List"} {
			a := w.ask(t, request{method: "GET", target: target, host: host, cookie: w.cookie})
			if a.status != http.StatusMisdirectedRequest && a.status != http.StatusBadRequest {
				t.Errorf("%s as %s: %d %.200s", target, host, a.status, a.body)
			}
		}
	}
}
