package dashboard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// contentSecurityPolicy lets the page load nothing but its own files and talk to
// nobody but its own server; no inline script or style can run.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard keeps web sites that the operator's browser has open from using the
// operator's access to this port. A socket on the loopback does not do that:
// every page in the browser can send to it.
type guard struct {
	hosts   []string
	metrics *metrics
	next    http.Handler
}

// newGuard checks the Host of every request, then the origin of requests that
// may change something, then forwards them.
func newGuard(hosts []string, m *metrics, next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m.refused.WithLabelValues("cross-origin").Inc()
		http.Error(w, "cross-origin request refused: open the dashboard itself, or use the millrace command", http.StatusForbidden)
	}))
	return &guard{hosts: hosts, metrics: m, next: origin.Handler(next)}
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.known(r.Host) {
		g.metrics.refused.WithLabelValues("unknown-host").Inc()
		http.Error(w, "unknown host name: use localhost, an IP address, or add the name to dashboard.hosts", http.StatusMisdirectedRequest)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	g.next.ServeHTTP(w, r)
}

// known refuses names that an attacker's DNS could have pointed at us (DNS
// rebinding). An IP address cannot be rebound.
func (g *guard) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.Contains(g.hosts, host)
}
