package etcd

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/metadata"
)

// root may do everything.
const (
	root         = "root"
	rootPassword = "password-of-root"
)

// Tokens has tokens last so many seconds after their last use, and passwords hashed as fast as can be.
func Tokens(seconds uint) func(*embed.Config) {
	return func(cfg *embed.Config) { cfg.AuthTokenTTL, cfg.BcryptCost = seconds, uint(bcrypt.MinCost) }
}

// Users demands a log-in from now on. The one user may read and write what begins with the prefix.
func (s *Server) Users(t testing.TB, user, password, prefix string) {
	t.Helper()
	ctx, auth := t.Context(), v3rpc.NewAuthServer(s.running.Server)
	below := &authpb.Permission{PermType: authpb.Permission_READWRITE, Key: []byte(prefix), RangeEnd: behind(prefix)}
	for _, step := range []func() error{
		func() error { _, err := auth.RoleAdd(ctx, &pb.AuthRoleAddRequest{Name: root}); return err },
		func() error { _, err := auth.RoleAdd(ctx, &pb.AuthRoleAddRequest{Name: user}); return err },
		func() error {
			_, err := auth.RoleGrantPermission(ctx, &pb.AuthRoleGrantPermissionRequest{Name: user, Perm: below})
			return err
		},
		func() error { return add(ctx, auth, root, rootPassword) },
		func() error { return add(ctx, auth, user, password) },
		func() error { _, err := auth.AuthEnable(ctx, &pb.AuthEnableRequest{}); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// add makes a user with the role of its name.
func add(ctx context.Context, auth *v3rpc.AuthServer, user, password string) error {
	if _, err := auth.UserAdd(ctx, &pb.AuthUserAddRequest{Name: user, Password: password, Options: &authpb.UserAddOptions{}}); err != nil {
		return err
	}
	_, err := auth.UserGrantRole(ctx, &pb.AuthUserGrantRoleRequest{User: user, Role: user})
	return err
}

// Grant gives a user's role what is below a prefix, and Revoke takes it away.
func (s *Server) Grant(t testing.TB, user string, kind authpb.Permission_Type, prefix string) {
	t.Helper()
	auth := v3rpc.NewAuthServer(s.running.Server)
	perm := &authpb.Permission{PermType: kind, Key: []byte(prefix), RangeEnd: behind(prefix)}
	if _, err := auth.RoleGrantPermission(s.asRoot(t), &pb.AuthRoleGrantPermissionRequest{Name: user, Perm: perm}); err != nil {
		t.Fatal(err)
	}
}

// Revoke takes what Grant gave.
func (s *Server) Revoke(t testing.TB, user, prefix string) {
	t.Helper()
	auth := v3rpc.NewAuthServer(s.running.Server)
	if _, err := auth.RoleRevokePermission(s.asRoot(t), &pb.AuthRoleRevokePermissionRequest{Role: user, Key: []byte(prefix), RangeEnd: behind(prefix)}); err != nil {
		t.Fatal(err)
	}
}

// behind is the first key that does not begin with a prefix.
func behind(prefix string) []byte {
	return append([]byte(prefix[:len(prefix)-1]), prefix[len(prefix)-1]+1)
}

// SetPassword gives a user another password, which ends its tokens.
func (s *Server) SetPassword(t testing.TB, user, password string) {
	t.Helper()
	auth := v3rpc.NewAuthServer(s.running.Server)
	if _, err := auth.UserChangePassword(s.asRoot(t), &pb.AuthUserChangePasswordRequest{Name: user, Password: password}); err != nil {
		t.Fatal(err)
	}
}

// EndTokens ends those of all users, as their time does.
func (s *Server) EndTokens(t testing.TB) {
	t.Helper()
	auth := v3rpc.NewAuthServer(s.running.Server)
	_, err := auth.AuthDisable(s.asRoot(t), &pb.AuthDisableRequest{})
	if err == nil {
		_, err = auth.AuthEnable(t.Context(), &pb.AuthEnableRequest{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// asRoot is the context of a request with a token of root.
func (s *Server) asRoot(t testing.TB) context.Context {
	t.Helper()
	in, err := v3rpc.NewAuthServer(s.running.Server).Authenticate(t.Context(), &pb.AuthenticateRequest{Name: root, Password: rootPassword})
	if err != nil {
		t.Fatal(err)
	}
	return metadata.NewIncomingContext(t.Context(), metadata.Pairs(rpctypes.TokenFieldNameGRPC, in.GetToken()))
}
