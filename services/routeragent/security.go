package routeragent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// transport is TLS with a certificate of our CA demanded from every client
// (gNMI section 3.1), unless users may come with a password alone.
func transport(files TLS) (grpc.ServerOption, error) {
	cert, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("load server certificate: %w", err)
	}
	pem, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("load CA of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("load CA of clients: no certificate in %s", files.CA)
	}
	demand := tls.RequireAndVerifyClientCert
	if files.ClientCertificates == CertificatesOptional {
		demand = tls.VerifyClientCertIfGiven
	}
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientCAs:    pool,
		ClientAuth:   demand,
		MinVersion:   tls.VersionTLS12,
	})), nil
}

// client is who makes a call.
type client struct{ name, role string }

// identify finds out who calls. Credentials in the metadata, if there are any,
// must be right, whatever the certificate says (gNMI section 3.1).
func (a *Agent) identify(ctx context.Context) (client, error) {
	cert := certificate(ctx)
	md, _ := metadata.FromIncomingContext(ctx)
	name, password := given(md, "username"), given(md, "password")
	switch {
	case len(name) == 0 && len(password) == 0 && cert != nil:
		return a.byCertificate(cert), nil
	case len(name) == 1 && len(password) == 1:
		if role, ok := a.users.login(name[0], password[0]); ok {
			return client{name[0], role}, nil
		}
		return client{}, status.Error(codes.Unauthenticated, "wrong username or password")
	case len(name) == 1 && len(password) == 0 && cert != nil && cert.Subject.CommonName == name[0]:
		// A name alone proves nothing: it must be the one that the certificate proves.
		return a.byCertificate(cert), nil
	}
	return client{}, status.Error(codes.Unauthenticated, "a client certificate, or username and password in the metadata, are needed")
}

// given are the values of a key; some clients send an empty one where they have none.
func given(md metadata.MD, key string) []string {
	return slices.DeleteFunc(slices.Clone(md.Get(key)), func(v string) bool { return v == "" })
}

// byCertificate takes the role of the common name, else of an organizational unit.
func (a *Agent) byCertificate(cert *x509.Certificate) client {
	name := cert.Subject.CommonName
	if len(a.cfg.Roles)+len(a.cfg.UnitRoles) == 0 {
		return client{name, RoleOperator}
	}
	if role, ok := a.cfg.Roles[name]; ok {
		return client{name, role}
	}
	for _, unit := range cert.Subject.OrganizationalUnit {
		if role, ok := a.cfg.UnitRoles[unit]; ok {
			return client{name, role}
		}
	}
	return client{name, RoleViewer}
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

// allow lets viewers read and only operators write.
func (a *Agent) allow(ctx context.Context, method string) error {
	c, err := a.identify(ctx)
	if err != nil {
		return err
	}
	if path.Base(method) == "Set" && c.role != RoleOperator {
		return status.Errorf(codes.PermissionDenied, "%q may read and not write: its role is viewer", c.name)
	}
	return nil
}

func (a *Agent) authorize(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := a.allow(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (a *Agent) authorizeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := a.allow(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(srv, stream)
}

func (a *Agent) observe(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	a.metrics.calls.WithLabelValues(path.Base(info.FullMethod), status.Code(err).String()).Inc()
	return resp, err
}

func (a *Agent) observeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, stream)
	a.metrics.calls.WithLabelValues(path.Base(info.FullMethod), status.Code(err).String()).Inc()
	return err
}
