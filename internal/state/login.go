package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// login logs in to etcd with the password of the moment. Etcd's client takes one password for its life, and does not
// start where it is wrong, or etcd away; so it is given a placeholder, and its requests for tokens are made here.
type login struct {
	user     string
	password func() (string, error)
	begun    atomic.Bool
	streams  atomic.Uint64
}

// placeholder makes the client ask for tokens. It is never sent.
const placeholder = "read at each log-in"

const authenticate = "/etcdserverpb.Auth/Authenticate"

// intercept is a grpc.UnaryClientInterceptor.
func (l *login) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method != authenticate {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	if l.begun.CompareAndSwap(false, true) {
		return nil // the client starts without a token: the first request that etcd refuses for that asks for one
	}
	password, err := l.password()
	if err != nil {
		return fmt.Errorf("log in to etcd as %s: %w", l.user, err)
	}
	err = invoke(ctx, method, &pb.AuthenticateRequest{Name: l.user, Password: password}, reply, conn, opts...)
	if errors.Is(rpctypes.Error(err), rpctypes.ErrAuthFailed) {
		return fmt.Errorf("log in to etcd as %s: %w", l.user, err)
	}
	return err
}

// stream gives a watch a stream of its own, and so a token of its own: etcd's client puts all watches on the stream of
// the first, whose token expires, and which then takes no more watches for as long as it has one.
func (l *login) stream(ctx context.Context) context.Context {
	if l == nil {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "millrace-watch", strconv.FormatUint(l.streams.Add(1), 10))
}

// forbidden says what to do where etcd's user may not do what only root may.
func forbidden(err error) error {
	if errors.Is(err, rpctypes.ErrPermissionDenied) {
		return fmt.Errorf("%w: only etcd's root may; its operator has to compact and defragment it, and to end its alarm", err)
	}
	return err
}
