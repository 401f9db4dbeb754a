package routeragent

import (
	"context"
	"fmt"
	runtimemetrics "runtime/metrics"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/bounds"
	service "github.com/millrace/millrace/services/routeragent/gnmi"
)

// Limits of what others can make the agent hold and do. docs/reference/gnmi.md states them.
const (
	maxConnections     = 256
	maxPerAddress      = 64 // connections
	maxPerClient       = 32 // connections with its calls: a control plane has one or two for each service and replica
	maxStreams         = 100
	maxCalls           = 64       // of one client at a time, subscriptions included
	maxSets            = 4        // of one client at a time: each may be a message of maxMessage
	setBurst           = 20       // seconds' worth of Sets that may come at once
	maxRefusals        = 100      // on one connection, which then is closed
	maxMessage         = 64 << 20 // enough for a Set of 100,000 prefix pairs; only an operator's is read at all
	handshakeTimeout   = 10 * time.Second
	keepaliveEvery     = time.Minute      // a connection that is silent as long is asked whether it lives
	keepaliveAnswer    = 20 * time.Second // and closed without an answer
	leastKeepaliveTime = 5 * time.Second  // between a client's own questions
)

func (a *Agent) limits() bounds.Limits {
	return bounds.Limits{Calls: maxCalls, Changes: maxSets, PerSecond: a.cfg.SetsPerSecond, Burst: max(1, int(setBurst*a.cfg.SetsPerSecond)),
		Places: service.PerClient}
}

var portLimits = bounds.Ports{Total: maxConnections, PerAddress: maxPerAddress, PerClient: maxPerClient, Refusals: maxRefusals}

// full is the answer to a client that there is no room for.
func full(client string, why bounds.Reason, perSecond float64) error {
	text := map[bounds.Reason]string{
		bounds.TooManyCalls:       fmt.Sprintf("has %d calls under way already", maxCalls),
		bounds.TooManyChanges:     fmt.Sprintf("has %d Sets under way already", maxSets),
		bounds.TooManyConnections: fmt.Sprintf("makes calls on %d connections already", maxPerClient),
		bounds.TooFast:            fmt.Sprintf("has made too many Sets: more than %g a second in the long run (sets_per_second)", perSecond),
	}[why]
	return status.Errorf(codes.ResourceExhausted, "%q %s", client, text)
}

// pace has Gets of one client wait for one another, and refuses Sets of a client that makes too many, but never one
// that only ends what an earlier one has begun: the router would return to its old configuration for the want of a
// confirm.
func (a *Agent) pace(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c, _ := ctx.Value(clientKey{}).(client)
	if set, ok := req.(*gnmi.SetRequest); ok && !ends(set) {
		switch why := a.clients.Change(c.name); why {
		case bounds.Room:
		case bounds.Gone:
			return nil, status.Error(codes.Canceled, "the call is over")
		default:
			a.metrics.refused.WithLabelValues(string(why)).Inc()
			return nil, full(c.name, why, a.cfg.SetsPerSecond)
		}
	}
	if info.FullMethod != gnmi.GNMI_Get_FullMethodName {
		return next(ctx, req)
	}
	done, err := a.clients.Turn(ctx, c.name, "Get")
	if err != nil {
		return nil, status.FromContextError(err).Err()
	}
	defer done()
	return next(ctx, req)
}

// ends is a Set that confirms or cancels a commit that waits, or gives it more time.
func ends(set *gnmi.SetRequest) bool {
	for _, e := range set.GetExtension() {
		switch e.GetCommit().GetAction().(type) {
		case *gnmi_ext.Commit_Confirm, *gnmi_ext.Commit_Cancel, *gnmi_ext.Commit_SetRollbackDuration:
			return true
		}
	}
	return false
}

// room refuses to read for a client while the agent holds more than memory allows. What is live was found by the last
// collection of garbage, so garbage does not count.
func (a *Agent) room() error {
	if held := liveHeap(); held > a.cfg.Memory {
		a.metrics.refused.WithLabelValues(reasonMemory).Inc()
		return status.Error(codes.ResourceExhausted, fmt.Sprintf("the agent holds %d MiB, more than its limit (memory) of %d; reading calls are refused until it is less", held>>20, a.cfg.Memory>>20))
	}
	return nil
}

// reasonMemory is a label of the metric of refusals.
const reasonMemory = "memory"

func liveHeap() uint64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	return sample[0].Value.Uint64()
}
