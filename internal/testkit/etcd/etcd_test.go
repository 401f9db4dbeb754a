package etcd

import (
	"errors"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"

	"github.com/millrace/millrace/internal/testkit/program"
)

func TestFullAndEmpty(t *testing.T) {
	s := Start(t, program.OwnHost(), Quota(16<<20))
	put := func() error {
		_, err := v3rpc.NewQuotaKVServer(s.running.Server).Put(t.Context(), &pb.PutRequest{Key: []byte("a"), Value: []byte("b")})
		return err
	}
	for range 2 {
		s.Fill(t)
		if err := put(); !errors.Is(err, rpctypes.ErrGRPCNoSpace) {
			t.Errorf("a write to a full etcd: %v", err)
		}
		s.Empty(t)
		if err := put(); err != nil {
			t.Error(err)
		}
	}
}
