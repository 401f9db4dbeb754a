package gnmi

import (
	"context"
	"fmt"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"github.com/millrace/millrace/services/routeragent/apply"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/state"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// router is a Store and a State without a kernel.
type router struct {
	Store
	config  *tree.Node
	changed chan struct{}
	// read is called by Read.
	read func(ctx context.Context) (*tree.Node, error)
}

func (r *router) Running() (*tree.Node, intent.Plan) { return r.config, intent.Plan{} }
func (r *router) Changed() <-chan struct{}           { return r.changed }
func (r *router) Parts(...tree.Path) state.Parts     { return 1 }
func (r *router) Edit(_ context.Context, edit func(*tree.Node) error, _ *apply.Confirmation) error {
	return edit(r.config.Fork())
}

func (r *router) Read(ctx context.Context, _ state.Parts) (*tree.Node, error) {
	if r.read == nil {
		return tree.New(), nil
	}
	return r.read(ctx)
}

// queues is a configuration of n queues.
func queues(t testing.TB, n int) *tree.Node {
	t.Helper()
	config := tree.New()
	for i := range n {
		config.Into("qos", "queues").Entry("queue", fmt.Sprintf("q%d", i)).Into("config").Set("name", fmt.Sprintf("q%d", i)).Set("queue-id", uint32(i))
	}
	return config
}

func serverOf(r *router) *Server {
	return New(Dependencies{Store: r, State: r, Wake: NewSignal()})
}

// once is the server's end of a Subscribe call.
type once struct {
	grpc.ServerStream
	ctx  context.Context
	list *gnmi.SubscriptionList
	send func(*gnmi.SubscribeResponse) error
}

func (o *once) Context() context.Context { return o.ctx }

func (o *once) Recv() (*gnmi.SubscribeRequest, error) {
	return &gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: o.list}}, nil
}

func (o *once) Send(r *gnmi.SubscribeResponse) error { return o.send(r) }

func wide(mode gnmi.SubscriptionList_Mode) *gnmi.SubscriptionList {
	return &gnmi.SubscriptionList{Mode: mode, Encoding: gnmi.Encoding_PROTO, Subscription: []*gnmi.Subscription{{Path: &gnmi.Path{}}}}
}
