//go:build k8s

package k8s

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/testkit/kubenode"
)

const frrImage = "docker.io/library/frr:debian"

// managed is where the node's agent listens.
var managed = kubenode.Address + ":9339"

// startRouter makes the node a router: FRR runs beside kubelet, as a package of the node, and a PE has ports towards
// its core and a customer.
func (w *world) startRouter(t *testing.T) {
	t.Helper()
	for _, port := range []string{"core0", "red0"} {
		w.node.Run(t, "ip", "link", "add", port, "type", "veth", "peer", "name", port+"-far")
		w.node.Run(t, "ip", "link", "set", port, "up")
	}
	w.node.Run(t, "install", "-d", "-o", "frr", "-g", "frr", "/run/frr")
	for _, daemon := range []string{"zebra", "staticd", "ospfd", "pathd"} {
		w.node.Run(t, "/usr/lib/frr/"+daemon, "-d", "-P", "0", "-f", "/dev/null")
	}
	w.node.Run(t, "vtysh", "-c", "configure terminal", "-c", "router ospf", "-c", "ospf router-id "+kubenode.Address, "-c", "network "+kubenode.Address+"/32 area 0")
}

// onNode has the chart run the agents of a node that is a router and a PE.
func (w *world) onNode(t *testing.T) {
	w.startRouter(t)
	cert, key := w.agents.Issue(t, w.node.Name, kubenode.Address)
	w.node.Kubectl(t, "create", "secret", "generic", "millrace-agents", "--from-file=ca.crt="+w.network.tls.CA, "--from-file=tls.crt="+cert, "--from-file=tls.key="+key)
	group, err := strconv.Atoi(strings.Split(strings.TrimSpace(w.node.Run(t, "getent", "group", "frrvty")), ":")[2])
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(w.folder, "pe.keys")
	if err := os.WriteFile(keys, []byte("1 000102030405060708090a0b0c0d0e0f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.node.Kubectl(t, "create", "secret", "generic", "millrace-pe", "--from-file="+keys)
	w.keep(t, map[string]any{
		"agents": map[string]any{
			"image": frrImage, "groups": []int{group}, "tls": map[string]any{"secret": map[string]any{"secretName": "millrace-agents"}},
			"router": map[string]any{
				"config": map[string]any{"roles": map[string]any{"controller": "operator"}},
				"nodes":  map[string]any{w.node.Name: map[string]any{"listen": managed, "interfaces": map[string]any{"uplink": map[string]any{"speed": 1_000_000_000}}}},
			},
			"pe": map[string]any{
				"keysSecret": "millrace-pe",
				"nodes": map[string]any{w.node.Name: map[string]any{
					"pe": kubenode.Address, "core": []string{"core0"}, "vpns": []any{map[string]any{
						"name": "red", "id": 1, "ports": []string{"red0"}, "remotes": []any{map[string]any{"pe": "10.77.0.9", "prefixes": []string{"10.9.0.0/24"}}},
					}},
				}},
			},
		},
		"inventory": map[string]any{"devices": []any{w.outside(), map[string]any{"name": w.node.Name, "address": managed, "loopback": kubenode.Address}}},
	})
	before := w.programs(t)
	if out, err := w.upgrade(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.ready(t, before)
	w.agentsReady(t)
	kubenode.Until(t, "the control plane has the node's counters", func() (bool, any) {
		metrics, err := w.metrics(t)
		return err == nil && strings.Contains(metrics, `millrace_collectors_telemetry_connected{device="`+w.node.Name+`"} 1`), err
	})
	if w.queues(t) {
		t.Error("the node has queues before anybody configured them")
	}
	w.setQueues(t)
	if !w.queues(t) {
		t.Errorf("the agent took the queues, and the node has none:\n%s", w.node.Run(t, "tc", "qdisc", "show", "dev", "uplink"))
	}
	if !w.paces(t) {
		t.Error("the PE's port has no program of the agent")
	}
	w.node.Run(t, "kill", "-KILL", w.pid(t, "agent"), w.pid(t, "pe"))
	if !w.queues(t) || !w.paces(t) {
		t.Error("the node lost its queues or programs with its agents")
	}
	w.agentsReady(t)
	if !w.queues(t) || !w.paces(t) {
		t.Error("the next agents took the node's queues or programs away")
	}
}

// agentsReady waits until the node's router agent answers what FRR knows, by vtysh of the image, and both agents are
// ready.
func (w *world) agentsReady(t *testing.T) {
	t.Helper()
	kubenode.Until(t, "the node's agent knows FRR's database", func() (bool, any) {
		c, err := w.dialAgent(t)
		if err != nil {
			return false, err
		}
		defer c.Close()
		known, err := c.GetJSON(t.Context(), gnmi.GetRequest_STATE, "/network-instances/network-instance[name=DEFAULT]/protocols")
		return err == nil && strings.Contains(string(known), kubenode.Address), fmt.Sprint(string(known), err)
	})
	for _, kind := range []string{"router", "pe"} {
		w.node.Kubectl(t, "rollout", "status", "daemonset/millrace-"+kind+"-agent", "--timeout", kubenode.Patience.String())
	}
}

func (w *world) dialAgent(t *testing.T) (*gnmiclient.Client, error) {
	t.Helper()
	credentials, err := (&device.Inventory{TLS: device.TLS{CA: w.agents.CA, Cert: w.network.tls.Cert, Key: w.network.tls.Key}}).ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	return gnmiclient.Dial(t.Context(), device.Device{Name: w.node.Name, Address: managed}, credentials)
}

// setQueues gives the node's port the two queues of paper 002.
func (w *world) setQueues(t *testing.T) {
	t.Helper()
	c, err := w.dialAgent(t)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Set(t.Context(), &gnmi.SetRequest{Update: []*gnmi.Update{{
		Path: gnmiclient.MustPath("/qos"),
		Val:  &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(read(t, "testdata/queues.json"))}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
}

// queues reports whether the node's kernel has the agent's queues at its port.
func (w *world) queues(t *testing.T) bool {
	t.Helper()
	return strings.Contains(w.node.Run(t, "tc", "qdisc", "show", "dev", "uplink"), "qdisc htb")
}

// paces reports whether the PE agent's program is at the customer's port, and its maps are pinned.
func (w *world) paces(t *testing.T) bool {
	t.Helper()
	return strings.Contains(w.node.Run(t, "tc", "filter", "show", "dev", "red0", "ingress"), "bpf") && w.node.Run(t, "find", "/sys/fs/bpf", "-type", "f") != ""
}

// unpace removes the PE agent's programs, as an operator does who takes the agents away.
func (w *world) unpace(t *testing.T) {
	t.Helper()
	w.node.Kubectl(t, "exec", "daemonset/millrace-pe-agent", "-c", "agent", "--", "sh", "-c", "/program/millrace pe --remove --config /etc/millrace/config/$NODE.yaml")
}

// metrics are what the control plane's pod says of itself.
func (w *world) metrics(t *testing.T) (string, error) {
	t.Helper()
	r, err := w.http.Get(w.base + "/metrics")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	return string(raw), err
}
