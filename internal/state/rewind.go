package state

import (
	"context"
	"errors"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// rewind notices that etcd answers with older data than before, or with another cluster's: an operator has
// restored a backup while this process runs. Each answer has the revision of etcd, and a read or a write
// that was sent after an answer never has a lower one (the store makes linearizable reads only). Other
// clients may have written so much since then that the revision is higher again. So after every new
// connection the newest key that was seen is read at the revision at which it was written.
type rewind struct {
	mu      sync.Mutex
	cluster uint64
	seen    int64
	newest  witness
	times   uint64
	next    chan struct{}
	// connections counts them; proven is the last after which the newest key was found.
	connections, proven int
}

// witness is a key that was written at a revision.
type witness struct {
	key      []byte
	revision int64
}

func newRewind() *rewind { return &rewind{next: make(chan struct{})} }

// mark is the state of a rewind when a request was sent.
type mark struct {
	revision int64
	times    uint64
}

func (r *rewind) sent() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark{r.seen, r.times}
}

// answered processes an answer. It ignores one to a request from before a rewind.
func (r *rewind) answered(m mark, header *pb.ResponseHeader, newest witness) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cluster, revision := header.GetClusterId(), header.GetRevision()
	switch {
	case m.times != r.times:
	case revision < m.revision || r.cluster != 0 && cluster != r.cluster:
		r.rewound()
		r.cluster, r.seen, r.newest = cluster, revision, newest
	default:
		r.cluster, r.seen = cluster, max(r.seen, revision)
		if newest.revision > r.newest.revision {
			r.newest = newest
		}
	}
}

// rewound forgets everything; mu is held.
func (r *rewind) rewound() {
	r.cluster, r.seen, r.newest, r.times = 0, 0, witness{}, r.times+1
	close(r.next)
	r.next = make(chan struct{})
}

// kv are the requests whose answers come from a quorum; the revision of others is that of one member, which may be
// behind.
const kv = "/etcdserverpb.KV/"

// intercept is a grpc.UnaryClientInterceptor.
func (r *rewind) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	m := r.sent()
	err := invoke(ctx, method, req, reply, conn, opts...)
	if a, ok := reply.(interface{ GetHeader() *pb.ResponseHeader }); ok && err == nil && strings.HasPrefix(method, kv) {
		r.prove(ctx, conn, invoke)
		r.answered(m, a.GetHeader(), witnessOf(req, reply))
	}
	return err
}

// prove reads the newest key after a new connection. One that was compacted proves nothing; without an
// answer the next request tries again.
func (r *rewind) prove(ctx context.Context, conn *grpc.ClientConn, invoke grpc.UnaryInvoker) {
	r.mu.Lock()
	connection, newest, times, doubt := r.connections, r.newest, r.times, r.connections != r.proven
	r.mu.Unlock()
	if !doubt {
		return
	}
	found := &pb.RangeResponse{}
	var err error
	if newest.key != nil {
		err = invoke(ctx, kv+"Range", &pb.RangeRequest{Key: newest.key, Revision: newest.revision, KeysOnly: true}, found, conn)
	}
	gone := errors.Is(rpctypes.Error(err), rpctypes.ErrFutureRev) ||
		err == nil && newest.key != nil && (len(found.GetKvs()) == 0 || found.GetKvs()[0].GetModRevision() != newest.revision)
	if err != nil && !gone && !errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proven = max(r.proven, connection)
	if gone && times == r.times {
		r.rewound()
	}
}

// witnessOf is the newest key of an answer.
func witnessOf(req, reply any) (newest witness) {
	switch answer := reply.(type) {
	case *pb.RangeResponse:
		for _, kv := range answer.GetKvs() {
			if kv.GetModRevision() > newest.revision {
				newest = witness{kv.GetKey(), kv.GetModRevision()}
			}
		}
	case *pb.TxnResponse:
		txn, _ := req.(*pb.TxnRequest)
		for _, op := range txn.GetSuccess() {
			if put := op.GetRequestPut(); put != nil && answer.GetSucceeded() {
				newest = witness{put.GetKey(), answer.GetHeader().GetRevision()}
			}
		}
	}
	return newest
}

// TagRPC implements stats.Handler.
func (r *rewind) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (r *rewind) HandleRPC(context.Context, stats.RPCStats) {}

// TagConn implements stats.Handler.
func (r *rewind) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler: behind a new connection may be another etcd.
func (r *rewind) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, begins := s.(*stats.ConnBegin); begins {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.connections++
	}
}

// Rewound counts how often etcd came back with older data since this process dialled it; next is closed when it does
// again. An embedded etcd does not while it runs.
func (s *Store) Rewound() (times uint64, next <-chan struct{}) {
	if s.rewind == nil {
		return 0, nil
	}
	s.rewind.mu.Lock()
	defer s.rewind.mu.Unlock()
	return s.rewind.times, s.rewind.next
}
