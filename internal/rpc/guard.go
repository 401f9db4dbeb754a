package rpc

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Guard keeps web sites that a browser has open from using the access of the browser's host to a port without login.
// A socket on the loopback does not do that: every page in the browser can send to it.
type Guard struct {
	// Hosts are names by which clients may address the port, beside localhost and any IP address.
	Hosts []string
	// Setting is the key of the configuration that lists Hosts, for who is refused; empty: there is none.
	Setting string
	// Refused counts, by UnknownHost or CrossOrigin.
	Refused func(reason string)
}

// Reasons of refusals.
const (
	UnknownHost = "unknown-host"
	CrossOrigin = "cross-origin"
)

// Wrap checks the Host of every request, then the origin of requests that may change something, then forwards them.
func (g Guard) Wrap(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Refused(CrossOrigin)
		refuse(w, r, http.StatusForbidden, "CROSS_ORIGIN", "cross-origin request refused: this port takes no requests from other web sites")
	}))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.known(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		g.Refused(UnknownHost)
		refuse(w, r, http.StatusMisdirectedRequest, "UNKNOWN_HOST", g.advice())
	})
}

func (g Guard) advice() string {
	if g.Setting == "" {
		return "unknown host name: use localhost or an IP address"
	}
	return "unknown host name: use localhost, an IP address, or add the name to " + g.Setting
}

// known refuses names that an attacker's DNS could have pointed at us (DNS
// rebinding). An IP address cannot be rebound.
func (g Guard) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.Contains(g.Hosts, host)
}

// rest is where APIs of JSON over plain HTTP begin, whose errors are problem details (RFC 9457).
const rest = "/v1/"

// refuse answers as clients of the path read errors.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, text string) {
	if !strings.HasPrefix(r.URL.Path, rest) {
		http.Error(w, text, status)
		return
	}
	raw, err := json.Marshal(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": text, "code": code})
	if err != nil {
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client may have disconnected
}
