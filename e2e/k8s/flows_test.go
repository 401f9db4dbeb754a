//go:build k8s

package k8s

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/transfers"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// huge is what a nightly run must find, between hosts behind the first and the third router.
var huge = transfers.Transfer{Src: "10.1.1.2", Dst: "10.3.1.2", Bytes: 2_000_000_000}

// stored is how many flows the store has of the pair of a transfer, of any time.
func (w *world) stored(t *testing.T, of transfers.Transfer) (flows uint64, err error) {
	t.Helper()
	now := time.Now()
	top, err := w.store.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(now.Add(-2 * time.Hour)), To: timestamppb.New(now.Add(time.Hour)), Ipv4Length: 24, Limit: 100,
	}))
	if err != nil {
		return 0, err
	}
	for _, p := range top.Msg.GetPairs() {
		if p.GetPair().GetSrc() == transfers.Prefix(of.Src) && p.GetPair().GetDst() == transfers.Prefix(of.Dst) {
			flows += p.GetFlows()
		}
	}
	return flows, nil
}

// flows sends transfers from an address that the inventory has, and from one that it has not.
func (w *world) flows(t *testing.T) {
	// A pod is ready some time before kube-proxy leads exporters to it, and no exporter sends twice.
	address := w.node.Kubectl(t, "get", "pods", "-l", "app.kubernetes.io/component in (control-plane,flow)", "-o", "jsonpath={.items[0].status.podIP}")
	kubenode.Until(t, "kube-proxy leads flows to the pod", func() (bool, any) {
		return strings.Contains(w.node.Run(t, "nft", "list", "ruleset"), "millrace-flows/udp/flows__"+address+"/"), address
	})
	begin := time.Now().Add(-3 * time.Minute).Truncate(time.Minute).Add(10 * time.Second)
	stranger := transfers.Transfer{Src: "10.66.0.1", Dst: "10.67.0.1", Bytes: 2_000_000_000}
	// The stranger is first, and through the same socket of the pod: once the other's flow is stored, its own is not.
	w.send(t, "10.77.0.9", stranger, begin)
	w.send(t, kubenode.Outside, huge, begin)
	kubenode.Until(t, "the flow is stored", func() (bool, any) {
		n, err := w.stored(t, huge)
		return n == 1, err
	})
	if n, err := w.stored(t, stranger); err != nil || n != 0 {
		t.Errorf("%d flows (%v) of an exporter that the inventory does not list", n, err)
	}
}

// send is one NetFlow datagram of an exporter at an address outside of the cluster.
func (w *world) send(t *testing.T, from string, of transfers.Transfer, begin time.Time) {
	t.Helper()
	own(t, from)
	c, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}).Dial("udp", net.JoinHostPort(kubenode.Address, strconv.Itoa(flowPort)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(of.V5(begin.Add(-time.Hour), begin, 0)); err != nil {
		t.Fatal(err)
	}
}

// nightly waits for the job that the cluster's clock starts.
func (w *world) nightly(t *testing.T) {
	kubenode.Until(t, "the CronJob's run has found the pair", func() (bool, any) {
		r, err := w.alpha.List(t.Context(), connect.NewRequest(&alphav1.ListRequest{}))
		if err != nil || len(r.Msg.GetPairs()) == 0 {
			return false, err
		}
		w.pair = r.Msg.GetPairs()[0].GetId()
		p := r.Msg.GetPairs()[0]
		if p.GetSrc() != transfers.Prefix(huge.Src) || p.GetDst() != transfers.Prefix(huge.Dst) || p.GetExporter() != kubenode.Outside {
			t.Fatalf("found %v", p)
		}
		return true, nil
	})
	kubenode.Until(t, "its job has succeeded", func() (bool, any) {
		out := w.node.Kubectl(t, "get", "jobs", "-l", "app.kubernetes.io/instance=millrace", "-o", "jsonpath={.items[*].status.succeeded}")
		return out != "", out
	})
	// Every minute is for this case only.
	w.node.Kubectl(t, "patch", "cronjob", "millrace-nightly", "--patch", `{"spec":{"suspend":true}}`)
}

var exporter = netip.MustParseAddr(kubenode.Outside)

// give imports records of a transfer as a batch, as `millrace flows import` does.
func (w *world) give(t *testing.T, batch string, of transfers.Transfer, begin time.Time, records int) error {
	stream := w.files.Import(t.Context())
	all := slices.Repeat([]*flowv1.FlowRecord{of.Record(exporter, begin)}, records)
	if err := stream.Send(&flowv1.ImportRequest{Batch: &flowv1.FlowBatch{BatchId: batch, Records: all}}); err != nil {
		_, closed := stream.CloseAndReceive()
		return closed
	}
	_, err := stream.CloseAndReceive()
	return err
}
