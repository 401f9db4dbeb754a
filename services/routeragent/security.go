package routeragent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/mtls"
)

// transport is TLS with a certificate of our CA demanded from every client
// (gNMI section 3.1), unless users may come with a password alone. Its files are
// read again when they change, so that certificates are rotated without a restart.
func (a *Agent) transport() (grpc.ServerOption, error) {
	files := a.cfg.TLS
	c, err := mtls.New(mtls.Files{CA: files.CA, Cert: files.Cert, Key: files.Key, CRL: files.CRL, CRLOverdue: files.CRLOverdue},
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
	name, address string
	by            string // certificate or password
	role          access.Role
	// now is the role that the client has by the files as they are now.
	now func() access.Role
	// abandon ends the call without an answer.
	abandon context.CancelFunc
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
		who.name, who.by = access.Name(cert), "certificate"
		who.now = func() access.Role { return a.roles.Get().Of(cert) }
		who.role = who.now()
		return who, nil
	case len(name) == 1 && len(password) == 1:
		who.name, who.by = name[0], "password"
		user, err := a.users.login(name[0], password[0], hostOf(who.address))
		who.role, who.now = user.Role, func() access.Role { return a.users.still(user) }
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

func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
