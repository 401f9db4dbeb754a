package state

import (
	"context"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// rewind notices that etcd answers with older data than it has had, or with another cluster's: somebody has put a
// backup back while this process runs. Etcd says at which revision it answers, and a read or a write that was sent
// after an answer is never at a lower one (the store makes linearizable reads only).
type rewind struct {
	mu      sync.Mutex
	cluster uint64
	seen    int64
	times   uint64
	next    chan struct{}
}

func newRewind() *rewind { return &rewind{next: make(chan struct{})} }

// mark is what was known when a request was sent.
type mark struct {
	revision int64
	times    uint64
}

func (r *rewind) sent() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark{r.seen, r.times}
}

// answered takes an answer. One to a request from before a rewind says nothing any more.
func (r *rewind) answered(m mark, cluster uint64, revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case m.times != r.times:
	case revision < m.revision || r.cluster != 0 && cluster != r.cluster:
		r.cluster, r.seen, r.times = cluster, revision, r.times+1
		close(r.next)
		r.next = make(chan struct{})
	default:
		r.cluster, r.seen = cluster, max(r.seen, revision)
	}
}

// kv are the requests whose answers come from a quorum; the revision of others is that of one member, which may be
// behind.
const kv = "/etcdserverpb.KV/"

// intercept is a grpc.UnaryClientInterceptor.
func (r *rewind) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	m := r.sent()
	err := invoke(ctx, method, req, reply, conn, opts...)
	if a, ok := reply.(interface{ GetHeader() *pb.ResponseHeader }); ok && err == nil && strings.HasPrefix(method, kv) {
		r.answered(m, a.GetHeader().GetClusterId(), a.GetHeader().GetRevision())
	}
	return err
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
