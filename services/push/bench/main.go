// Command bench applies one change set to many routers that answer at once, and prints the time and memory
// that the control plane needs: go run ./services/push/bench --routers 10,100 --json.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/driver"
)

// result is one change set.
type result struct {
	Routers          int     `json:"routers"`
	State            string  `json:"state"`
	Seconds          float64 `json:"seconds"`
	SecondsPerRouter float64 `json:"seconds_per_router"`
	StoreReads       int     `json:"store_reads"`
	StoreWrites      int     `json:"store_writes"`
	BytesWritten     int     `json:"bytes_written"`
	RecordBytes      int     `json:"record_bytes"`
}

func main() {
	routers := flag.String("routers", "10,100,500", "how many routers a change set has, one change set each")
	ports := flag.Int("ports", 48, "ports per router, each an entry and a check")
	spread := flag.Duration("spread", 0, "routers answer to commits and confirmations at different times up to this one")
	asJSON := flag.Bool("json", false, "one JSON object per line")
	flag.Parse()
	for _, word := range strings.Split(*routers, ",") {
		n, err := strconv.Atoi(word)
		if err == nil {
			err = bench(context.Background(), os.Stdout, newNetwork(n, *ports, *spread), *asJSON)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}

func bench(ctx context.Context, w io.Writer, network *network, asJSON bool) error {
	dir, err := os.MkdirTemp("", "millrace-push-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	etcd := state.NewEmbedded(dir)
	if err := etcd.Start(ctx); err != nil {
		return err
	}
	defer etcd.Stop(ctx) //nolint:errcheck // the process ends
	r, err := measure(ctx, etcd.Store(), network)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err = fmt.Fprintf(w, "%d routers: %s after %.1f s (%.4f s per router), %d reads and %d writes of the store, %d octets written, record of %d octets\n",
		r.Routers, r.State, r.Seconds, r.SecondsPerRouter, r.StoreReads, r.StoreWrites, r.BytesWritten, r.RecordBytes)
	return err
}

func measure(ctx context.Context, store *state.Store, network *network) (result, error) {
	mux := http.NewServeMux()
	mux.Handle(policyv1connect.NewPolicyServiceHandler(network, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	defer local.Close()
	messages := bus.NewMemory()
	defer messages.Close()
	service, err := push.New(push.DefaultConfiguration(), push.Dependencies{
		Inventory: network.inventory, State: store, Bus: messages, Log: slog.New(slog.DiscardHandler),
		Policy:     policyv1connect.NewPolicyServiceClient(local.Client(), rpc.LocalURL),
		Vendors:    driver.Vendors{device.OSMillrace: {Encoding: configentry.JSONIETF, Opener: network}},
		Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return result{}, err
	}
	if err := service.Start(ctx); err != nil {
		return result{}, err
	}
	defer service.Stop(ctx) //nolint:errcheck // the process ends
	return apply(ctx, service, store, len(network.routers))
}

// apply is the life of one change set; the time is that from the approval to the end.
func apply(ctx context.Context, service *push.Component, store *state.Store, n int) (result, error) {
	client, closeClient := clientOf(service)
	defer closeClient()
	created, err := client.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{Policy: "bench", Author: "bench"}))
	if err != nil {
		return result{}, err
	}
	id := created.Msg.GetChange().GetId()
	before, began := storeCosts(), time.Now()
	if _, err := client.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "bench", Apply: true})); err != nil {
		return result{}, err
	}
	for looks := 1; ; looks++ {
		entries, err := store.List(ctx, "changes/"+id)
		if err != nil {
			return result{}, err
		}
		cs, err := recordOf(entries)
		if err != nil {
			return result{}, err
		}
		switch cs.GetState() {
		case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_FAILED, pushv1.State_STATE_ROLLED_BACK:
			took := time.Since(began).Seconds()
			after := storeCosts()
			return result{n, cs.GetState().String(), took, took / float64(n), after.reads - before.reads - looks,
				after.writes - before.writes, after.octets - before.octets, len(entries[0].Value)}, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}
