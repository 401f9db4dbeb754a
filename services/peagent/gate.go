package peagent

import (
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/bounds"
	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// Limits of one client of control, and of the port. docs/reference/peagent.md states them.
var (
	clientLimits = bounds.Limits{Calls: 32, Changes: 4, PerSecond: 10, Burst: 200}
	portLimits   = bounds.Ports{Total: 128, PerAddress: 32, PerClient: 16, Refusals: 100}
)

// needs is what each path of control needs. One that is not here is answered to nobody.
var needs = map[string]access.Need{
	vpnv1connect.VpnServiceFlowsProcedure:        access.Read,
	vpnv1connect.VpnServiceWeightsProcedure:      access.Read,
	vpnv1connect.VpnServiceSetWeightsProcedure:   access.Write,
	vpnv1connect.VpnAgentServiceInstallProcedure: access.Write,
	"/metrics": access.Read,
	"/healthz": access.Read,
	"/ready":   access.Read,
}

func needOf(path string) access.Need {
	if strings.HasPrefix(path, monitor.ProfilesPath) {
		return access.Read
	}
	return needs[path]
}

// admit decides about a request to control before it reads it.
func (a *Agent) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		need := needOf(r.URL.Path)
		name, role := a.client(r)
		if verdict := access.Decide(name != "", role, need); verdict != access.Granted {
			a.refuse(w, r, name, string(verdict), denial(name, verdict))
			return
		}
		end, why := a.room(r, name, need == access.Write)
		if why != bounds.Room {
			a.refuse(w, r, name, string(why), connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%q asks for too much at once, or too often (%s)", name, why)))
			return
		}
		defer end()
		a.conns.Find(r.RemoteAddr).Granted()
		next.ServeHTTP(w, r)
	})
}

// client is who sent a request by the certificate that the handshake has verified, and the role it has.
func (a *Agent) client(r *http.Request) (name string, role access.Role) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", ""
	}
	cert := r.TLS.PeerCertificates[0]
	return access.Name(cert), a.roles.Get().Of(cert)
}

// room is whether a client may have one more request under way, and make one more change.
func (a *Agent) room(r *http.Request, name string, change bool) (end func(), why bounds.Reason) {
	if _, why = a.conns.Find(r.RemoteAddr).Greet(name); why != bounds.Room {
		return nil, why
	}
	if end, why = a.clients.Begin(name, change); why != bounds.Room || !change {
		return end, why
	}
	if why = a.clients.Change(name); why != bounds.Room {
		end()
	}
	return end, why
}

func denial(name string, why access.Verdict) *connect.Error {
	switch why {
	case access.Unauthenticated:
		return connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("a client certificate is needed"))
	case access.NoRole:
		return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%q has no role; name it in control.roles or control.controllers of the agent's configuration", name))
	case access.TooLow:
		return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%q may not change weights here; name it in control.controllers of the agent's configuration", name))
	}
	return connect.NewError(connect.CodeUnimplemented, fmt.Errorf("the agent serves no such call"))
}

// refuse counts, writes down and answers.
func (a *Agent) refuse(w http.ResponseWriter, r *http.Request, name, reason string, err *connect.Error) {
	a.metrics.refused.WithLabelValues(reason).Inc()
	a.log.Warn("audit", "event", "refused", "call", r.URL.Path, "client", name, "address", r.RemoteAddr, "result", err.Code().String(), "error", err.Message())
	a.conns.Find(r.RemoteAddr).Refused()
	_ = connect.NewErrorWriter().Write(w, r, err) // the client may have disconnected
}

func (a *Agent) rolesRefused(is bool) {
	a.metrics.rolesRefused.Set(0)
	if is {
		a.metrics.rolesRefused.Set(1)
	}
}
