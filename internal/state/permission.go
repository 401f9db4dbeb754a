package state

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// permission is whether etcd's user may do what a store does. It is asked for until it is there, and again after etcd
// has refused something: a role that is granted later is taken up, and one that is taken away is noticed.
type permission struct {
	user  string // empty: who the certificate names, or nobody
	known atomic.Bool
}

// intercept is a grpc.UnaryClientInterceptor.
func (p *permission) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	if errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied) && method != compact {
		p.known.Store(false)
	}
	return err
}

// compact is root's, and nothing that a store needs.
const compact = kv + "Compact"

// keyProbe is a key that nobody writes.
const keyProbe = "probe"

// ask has etcd judge a transaction that reads all keys and writes one, and whose condition never holds: etcd judges
// what a transaction would do before it looks at the condition.
func (p *permission) ask(ctx context.Context, s *Store) error {
	if p == nil || p.known.Load() {
		return nil
	}
	never := clientv3.Compare(clientv3.CreateRevision(s.root+keyProbe), "<", 0)
	_, err := s.client.Txn(ctx).If(never).Then(clientv3.OpGet(s.root, clientv3.WithPrefix(), clientv3.WithCountOnly()), clientv3.OpPut(s.root+keyProbe, "")).Commit()
	switch {
	case err == nil:
		p.known.Store(true)
	case errors.Is(err, rpctypes.ErrNoSpace): // a full etcd takes no writes, and the keeper says so
		return nil
	}
	return err
}

// explain says what to do where etcd's user lacks a role.
func (p *permission) explain(err error, root string) error {
	who := "the user of this connection"
	if p != nil && p.user != "" {
		who = "user " + p.user
	}
	return fmt.Errorf("etcd refuses %s the keys below %s: grant a role of that user `readwrite %s` with --prefix=true, which counts at once: %w", who, root, root, err)
}
