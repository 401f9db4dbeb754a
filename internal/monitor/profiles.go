package monitor

import (
	"net/http"
	"net/http/pprof"
	"net/netip"
)

// ProfilesPath is where the pages of pprof begin.
const ProfilesPath = "/debug/pprof/"

// Profiles are the pages of pprof.
func Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(ProfilesPath, pprof.Index)
	mux.HandleFunc(ProfilesPath+"cmdline", pprof.Cmdline)
	mux.HandleFunc(ProfilesPath+"profile", pprof.Profile)
	mux.HandleFunc(ProfilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc(ProfilesPath+"trace", pprof.Trace)
	return mux
}

// Loopback refuses clients on other hosts, also those that a proxy on this host forwards: profiles show what is in
// memory, and cost processor time.
func Loopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		forwarded := r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != ""
		if err != nil || !from.Addr().Unmap().IsLoopback() || forwarded {
			http.Error(w, "this page is served to this host only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
