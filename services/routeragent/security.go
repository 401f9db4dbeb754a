package routeragent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path"
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/millrace/millrace/internal/mtls"
)

// transport is TLS with a certificate of our CA demanded from every client
// (gNMI section 3.1), unless users may come with a password alone. Its files are
// read again when they change, so that certificates are rotated without a restart.
func (a *Agent) transport() (grpc.ServerOption, error) {
	files := a.cfg.TLS
	c, err := mtls.New(mtls.Files{CA: files.CA, Cert: files.Cert, Key: files.Key, CRL: files.CRL},
		mtls.Dependencies{Use: "routeragent", Log: a.deps.Log, Registerer: a.deps.Registerer})
	if err != nil {
		return nil, fmt.Errorf("load the agent's certificate and the CA of clients: %w", err)
	}
	a.credentials = c
	demand := tls.RequireAndVerifyClientCert
	if files.ClientCertificates == CertificatesOptional {
		demand = tls.VerifyClientCertIfGiven
	}
	return grpc.Creds(credentials.NewTLS(c.Server(demand, "h2"))), nil
}

// client is who makes a call.
type client struct {
	name, role, address string
	by                  string // certificate or password
}

type clientKey struct{}

// identify finds out who calls. Credentials in the metadata, if there are any,
// must be right, whatever the certificate says (gNMI section 3.1).
func (a *Agent) identify(ctx context.Context) (client, error) {
	cert := certificate(ctx)
	md, _ := metadata.FromIncomingContext(ctx)
	name, password := given(md, "username"), given(md, "password")
	who := client{address: remote(ctx)}
	switch {
	case len(name) == 0 && len(password) == 0 && cert != nil,
		// A name alone proves nothing: it must be the one that the certificate proves.
		len(name) == 1 && len(password) == 0 && cert != nil && cert.Subject.CommonName == name[0]:
		who.name, who.role, who.by = cert.Subject.CommonName, a.roleOf(cert), "certificate"
		return who, nil
	case len(name) == 1 && len(password) == 1:
		var err error
		who.name, who.by = name[0], "password"
		who.role, err = a.users.login(name[0], password[0], hostOf(who.address))
		return who, err
	case len(name) == 1:
		who.name = name[0]
	}
	return who, status.Error(codes.Unauthenticated, "a client certificate, or username and password in the metadata, are needed")
}

// given are the values of a key; some clients send an empty one where they have none.
func given(md metadata.MD, key string) []string {
	return slices.DeleteFunc(slices.Clone(md.Get(key)), func(v string) bool { return v == "" })
}

// roleOf is the role of the common name, else of an organizational unit, else none: a certificate says who
// somebody is, and not what he may do.
func (a *Agent) roleOf(cert *x509.Certificate) string {
	if role, ok := a.cfg.Roles[cert.Subject.CommonName]; ok {
		return role
	}
	for _, unit := range cert.Subject.OrganizationalUnit {
		if role, ok := a.cfg.UnitRoles[unit]; ok {
			return role
		}
	}
	return ""
}

func remote(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

func certificate(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil
	}
	return info.State.PeerCertificates[0]
}

// admit decides about a call when its headers have come, before any message of it is read. It lets viewers read and
// only operators write; a client without a role may do nothing.
func (a *Agent) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	call := path.Base(info.FullMethodName)
	c, err := a.identify(ctx)
	if err == nil {
		err = a.allow(c, call)
	}
	conn := a.conns.find(c.address)
	if err != nil {
		conn.refused()
		a.metrics.calls.WithLabelValues(methodLabel(call), status.Code(err).String()).Inc()
		a.auditRefusal(c, call, err)
		return ctx, err
	}
	if conn.greet(c.name + " " + c.by) {
		a.auditLogin(c, call)
	}
	context.AfterFunc(ctx, func() { a.calls.end(c.name) })
	return context.WithValue(ctx, clientKey{}, c), nil
}

// allow counts the call as under way if it may be made.
func (a *Agent) allow(c client, call string) error {
	switch {
	case c.role == "":
		return status.Errorf(codes.PermissionDenied, "%q has no role; name it in roles or unit_roles of the agent's configuration", c.name)
	case call == "Set" && c.role != RoleOperator:
		return status.Errorf(codes.PermissionDenied, "%q may read and not write: its role is viewer", c.name)
	case call != "Set":
		if err := a.room(); err != nil {
			return err
		}
	}
	return a.calls.begin(c.name)
}

// methodLabel keeps names that a client made up out of the metrics.
func methodLabel(call string) string {
	switch call {
	case "Capabilities", "Get", "Set", "Subscribe", "Check", "Watch", "List", "ServerReflectionInfo":
		return call
	}
	return "other"
}

func (a *Agent) observe(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	if info.FullMethod == gnmi.GNMI_Set_FullMethodName {
		a.tellHealth()
	}
	a.metrics.calls.WithLabelValues(path.Base(info.FullMethod), status.Code(err).String()).Inc()
	return resp, err
}

func (a *Agent) observeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, stream)
	a.metrics.calls.WithLabelValues(path.Base(info.FullMethod), status.Code(err).String()).Inc()
	return err
}
