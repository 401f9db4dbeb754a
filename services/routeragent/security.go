package routeragent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// transport is TLS with a certificate of our CA demanded from every client (gNMI section 3.1).
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
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
	})), nil
}

// authorize lets viewers read and only operators write.
func (a *Agent) authorize(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if path.Base(info.FullMethod) == "Set" && len(a.cfg.Roles) > 0 && a.cfg.Roles[clientName(ctx)] != RoleOperator {
		return nil, status.Errorf(codes.PermissionDenied, "client %q may not write; its role in agent.yaml is not operator", clientName(ctx))
	}
	return next(ctx, req)
}

// clientName is the common name of the client's certificate.
func clientName(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return ""
	}
	return info.State.PeerCertificates[0].Subject.CommonName
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
