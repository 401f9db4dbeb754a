// Command gnmic_check is what gnmic's library (github.com/openconfig/gnmic/pkg/api, of which gnmic is made) gets from a
// router agent, as one JSON object.
//
// In: address, CA, certificate, key.
// Out: on standard output, the answers and, for what is refused, the gRPC code.
// Next: services/routeragent, whose tests compare them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmic/pkg/api"
	"github.com/openconfig/gnmic/pkg/api/target"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	queue = "openconfig:/qos/queues/queue[name=gnmic]"
	id    = queue + "/config/queue-id"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: gnmic_check ADDRESS CA CERTIFICATE KEY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, ca, cert, key string) error {
	t, err := api.NewTarget(api.Name("agent"), api.Address(address), api.TLSCA(ca), api.TLSCert(cert), api.TLSKey(key), api.Timeout(20*time.Second))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := t.CreateGNMIClient(ctx); err != nil {
		return err
	}
	defer t.Close()
	c := &client{ctx: ctx, t: t, out: map[string]any{}}
	for _, step := range []func() error{c.capabilities, c.set, c.get, c.commit, c.subscribe, c.refused} {
		if err := step(); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(c.out)
}

// client sends requests, and keeps the answers.
type client struct {
	ctx context.Context
	t   *target.Target
	out map[string]any
}

func (c *client) capabilities() error {
	r, err := c.t.Capabilities(c.ctx)
	if err != nil {
		return err
	}
	c.out["version"], c.out["models"] = r.GetGNMIVersion(), len(r.GetSupportedModels())
	return nil
}

// sends sends a Set and returns its operations.
func (c *client) sends(options ...api.GNMIOption) ([]string, error) {
	req, err := api.NewSetRequest(options...)
	if err != nil {
		return nil, err
	}
	r, err := c.t.Set(c.ctx, req)
	operations := []string{}
	for _, one := range r.GetResponse() {
		operations = append(operations, one.GetOp().String())
	}
	return operations, err
}

func replaced(n int) api.GNMIOption {
	return api.Replace(api.Path(queue), api.Value(map[string]any{"name": "gnmic", "config": map[string]any{"name": "gnmic", "queue-id": n}}, "json_ietf"))
}

func (c *client) set() (err error) {
	c.out["set"], err = c.sends(replaced(6), api.Update(api.Path(id), api.Value("7", "json_ietf")))
	return err
}

// value is the queue's number, or the code of the refusal.
func (c *client) value(path, kind string) (any, error) {
	req, err := api.NewGetRequest(api.Path(path), api.DataType(kind), api.EncodingJSON_IETF())
	if err != nil {
		return nil, err
	}
	r, err := c.t.Get(c.ctx, req)
	if err != nil {
		return status.Code(err).String(), nil
	}
	var v any
	err = json.Unmarshal(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal(), &v)
	return v, err
}

func (c *client) get() (err error) {
	if c.out["get"], err = c.value(id, "CONFIG"); err != nil {
		return err
	}
	c.out["oper-status"], err = c.value("/interfaces/interface[name=ge-a]/state/oper-status", "ALL")
	return err
}

// commit commits twice: one is cancelled, one confirmed. gnmic sends a rollback duration of 0 unless it is given one.
func (c *client) commit() error {
	for n, end := range []struct {
		name   string
		option func(id string) func(proto.Message) error
	}{{"cancelled", api.Extension_CommitCancel}, {"confirmed", api.Extension_CommitConfirm}} {
		commit := fmt.Sprint("gnmic-", n)
		if _, err := c.sends(api.Extension_CommitRequest(commit, 0), replaced(8+n)); err != nil {
			return fmt.Errorf("commit to be %s: %w", end.name, err)
		}
		if _, err := c.sends(end.option(commit)); err != nil {
			return fmt.Errorf("commit not %s: %w", end.name, err)
		}
		v, err := c.value(id, "CONFIG")
		if err != nil {
			return err
		}
		c.out[end.name] = v
	}
	return nil
}

func (c *client) subscribe() error {
	req, err := api.NewSubscribeRequest(api.SubscriptionListModeONCE(), api.EncodingJSON_IETF(), api.Subscription(api.Path(queue+"/config")))
	if err != nil {
		return err
	}
	all, err := c.t.SubscribeOnce(c.ctx, req)
	if err != nil {
		return err
	}
	c.out["once"] = updates(all)
	return c.stream()
}

func updates(all []*gnmi.SubscribeResponse) (n int) {
	for _, m := range all {
		n += len(m.GetUpdate().GetUpdate())
	}
	return n
}

// stream takes three samples after what was there.
func (c *client) stream() error {
	req, err := api.NewSubscribeRequest(api.SubscriptionListModeSTREAM(), api.EncodingJSON_IETF(), api.Subscription(
		api.Path("/interfaces/interface[name=ge-a]/state/ifindex"), api.SubscriptionModeSAMPLE(), api.SampleInterval(200*time.Millisecond)))
	if err != nil {
		return err
	}
	responses, errs := c.t.SubscribeStreamChan(c.ctx, req, "samples")
	samples, synced := 0, false
	for samples < 3 {
		select {
		case m := <-responses:
			if synced && m.GetUpdate() != nil {
				samples++
			}
			synced = synced || m.GetSyncResponse()
		case err := <-errs:
			return err
		}
	}
	c.t.StopSubscription("samples")
	c.out["samples"] = samples
	return nil
}

// refused requests what does not exist.
func (c *client) refused() (err error) {
	if c.out["delete"], err = c.sends(api.Delete(queue)); err != nil {
		return err
	}
	for what, path := range map[string]string{"absent": queue, "unknown": "/qos/nonsense", "unimplemented": "/system/config/hostname"} {
		if c.out[what], err = c.value(path, "ALL"); err != nil {
			return err
		}
	}
	_, err = c.sends(replaced(999))
	c.out["range"] = status.Code(err).String()
	return nil
}
