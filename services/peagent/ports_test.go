package peagent

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/await"
)

// startLogged is start with a log that is counted.
func (n *network) startLogged(change func(*Configuration)) (*Agent, *logBuffer) {
	n.T.Helper()
	cfg, log := n.config(1), &logBuffer{}
	change(&cfg)
	a, err := New(cfg, Dependencies{Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		n.T.Fatal(err)
	}
	n.Within("pe1", func() error { return a.Start(n.T.Context()) })
	n.T.Cleanup(func() { _ = a.Stop(n.T.Context()) })
	return a, log
}

func police(c *Configuration) { c.Mode = "police" }

// askReady is the answer of /ready.
func askReady(a *Agent) (code int, body string) {
	w := httptest.NewRecorder()
	a.mux().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
	return w.Code, w.Body.String()
}

// index is the interface index of a port of PE1.
func (n *network) index(port string) int {
	n.T.Helper()
	i, err := strconv.Atoi(strings.TrimSpace(n.In("pe1", "cat", "/sys/class/net/"+port+"/ifindex")))
	if err != nil {
		n.T.Fatal(err)
	}
	return i
}

// programs counts the agent's filters on a port of PE1.
func (n *network) programs(port string) (count int) {
	n.T.Helper()
	for _, side := range []string{"ingress", "egress"} {
		count += strings.Count(n.In("pe1", "tc", "filter", "show", "dev", port, side), "millrace-pe")
	}
	return count
}

// again makes the cable of a customer to PE1 again. Its new port there has what prepare does to it before it has its
// name.
func (n *network) again(i int, prepare ...string) {
	n.T.Helper()
	port := fmt.Sprint("c", i)
	n.In("pe1", "ip", "link", "del", port)
	n.Cable("left", port, fmt.Sprintf("10.1.%d.2/24", i), "pe1", "new", fmt.Sprintf("10.1.%d.1/24", i))
	n.In("left", "ip", "route", "add", fmt.Sprintf("10.2.%d.0/24", i), "via", fmt.Sprintf("10.1.%d.1", i))
	for _, command := range prepare {
		n.In("pe1", strings.Fields(command)...)
	}
	n.rename("new", port)
}

func (n *network) rename(from, to string) {
	n.T.Helper()
	n.In("pe1", "ip", "link", "set", from, "down")
	n.In("pe1", "ip", "link", "set", from, "name", to)
	n.In("pe1", "ip", "link", "set", to, "up")
}

// someFilter is another program's, on a port that has clsact.
const someFilter = "tc filter add dev %s %s prio 7 protocol ip u32 match u32 0 0"

func (n *network) wantPorts(a *Agent, names ...string) {
	n.T.Helper()
	pinned, err := a.dp.Pinned()
	if err != nil {
		n.T.Fatal(err)
	}
	for _, name := range names {
		if _, ok := pinned.Ports[n.index(name)]; !ok {
			n.T.Errorf("the datapath does not know %s: %v", name, pinned.Ports)
		}
	}
	if len(pinned.Ports) != len(names) {
		n.T.Errorf("the datapath has %v; want %v alone", pinned.Ports, names)
	}
}

// TestACustomersPortThatIsMadeAgain, such as a VLAN's or a virtual machine's, has its programs again; its packets are
// counted as its flow's. A port that went down and up between needs nothing.
func TestACustomersPortThatIsMadeAgain(t *testing.T) {
	besideAnother(t)
	n := newNetwork(t, 2)
	a, log := n.startLogged(police)
	n.start(2, police)
	n.In("pe1", "ip", "link", "set", "c2", "down")
	n.In("pe1", "ip", "link", "set", "c2", "up")
	n.again(1, "tc qdisc add dev new clsact", fmt.Sprintf(someFilter, "new", "ingress"))
	await.True(t, "the agent has attached to a port again", func() bool { return testutil.ToFloat64(a.metrics.reattached) > 0 })
	n.wantPorts(a, "c1", "c2")
	if got := n.programs("c1"); got != 2 {
		t.Errorf("%d programs on the port; want two", got)
	}
	if got := n.In("pe1", "tc", "filter", "show", "dev", "c1", "ingress"); !strings.Contains(got, "pref 7") {
		t.Errorf("another program's filter is gone:\n%s", got)
	}
	before := a.Flows()[0].Packets
	n.In("left", "ping", "-c", "3", "-i", "0.2", "10.2.1.2")
	if got := a.Flows()[0].Packets - before; got < 3 {
		t.Errorf("%d packets of three were the flow's", got)
	}
	if code, body := askReady(a); code != http.StatusOK {
		t.Errorf("/ready: %d %s", code, body)
	}
	if got, lines := testutil.ToFloat64(a.metrics.reattached), log.count("attached again"); got != 1 || lines != 1 {
		t.Errorf("attached %v times, %d lines of the log; want one", got, lines)
	}
}

// TestACorePortThatIsMadeAgain has its scheduler, too, with the classes of the rates in force.
func TestACorePortThatIsMadeAgain(t *testing.T) {
	besideAnother(t)
	n := newNetwork(t, 1)
	a := n.start(1, func(c *Configuration) { c.Mode = "htb" })
	a.mu.Lock()
	a.dp.SetRate(0, 1.25e6, 1e9)
	a.mu.Unlock()
	n.In("pe1", "ip", "link", "del", "core")
	n.Cable("pe1", "core", "10.0.1.1/24", "p", "a", "10.0.1.2/24")
	await.True(t, "the class of the flow is there again", func() bool { return n.class() == "10020Kbit" })
	await.True(t, "the programs are there again", func() bool { return n.programs("core") == 2 })
	await.True(t, "ready", func() bool { code, _ := askReady(a); return code == http.StatusOK })
}

// TestProgramsThatWereRemoved from ports that are still there are attached again; so is a scheduler.
func TestProgramsThatWereRemoved(t *testing.T) {
	besideAnother(t)
	n := newNetwork(t, 2)
	n.start(1, func(c *Configuration) { c.Mode = "htb" })
	n.In("pe1", strings.Fields(fmt.Sprintf(someFilter, "c1", "egress"))...)
	n.In("pe1", "tc", "filter", "del", "dev", "c1", "egress", "prio", "2")
	n.In("pe1", "tc", "qdisc", "del", "dev", "c2", "clsact")
	n.In("pe1", "tc", "qdisc", "del", "dev", "core", "root")
	for _, port := range []string{"c1", "c2", "core"} {
		await.True(t, "programs on "+port, func() bool { return n.programs(port) == 2 })
	}
	await.True(t, "a scheduler", func() bool { return strings.Contains(n.In("pe1", "tc", "qdisc", "show", "dev", "core"), "htb 7c02:") })
	if got := n.In("pe1", "tc", "filter", "show", "dev", "c1", "egress"); !strings.Contains(got, "pref 7") {
		t.Errorf("another program's filter is gone:\n%s", got)
	}
}

// TestReadyNamesThePortWithoutPrograms, why it has none, and nothing else, until it has them.
func TestReadyNamesThePortWithoutPrograms(t *testing.T) {
	besideAnother(t)
	n := newNetwork(t, 2)
	a, log := n.startLogged(police)
	ready := func(code int, part string) func() bool {
		return func() bool {
			got, body := askReady(a)
			return got == code && strings.Contains(body, part) && !strings.Contains(body, "c2")
		}
	}
	n.In("pe1", "ip", "link", "del", "c1")
	await.True(t, "the port that is gone is named", ready(http.StatusServiceUnavailable, "find port c1: no such device"))
	n.wantPorts(a, "c2")
	n.In("pe1", "ip", "link", "add", "new", "type", "veth", "peer", "name", "end")
	n.In("pe1", "tc", "qdisc", "add", "dev", "new", "ingress")
	n.rename("new", "c1")
	await.True(t, "the port that cannot be attached to is named", ready(http.StatusServiceUnavailable, "port c1: add clsact"))
	n.In("pe1", "tc", "qdisc", "del", "dev", "c1", "ingress")
	await.True(t, "the port has its programs", ready(http.StatusOK, "datapath: ok"))
	n.wantPorts(a, "c1", "c2")
	if got := log.count("level=WARN"); got != 2 {
		t.Errorf("%d warnings; want one that the port is not there, and one of its qdisc", got)
	}
}

// TestPortsThatChangeTheirNames are each what its name says; one that no configuration names any more is released.
func TestPortsThatChangeTheirNames(t *testing.T) {
	besideAnother(t)
	n := newNetwork(t, 2)
	a := n.start(1, police)
	ids := func(one, two uint32) func() bool {
		return func() bool {
			pinned, err := a.dp.Pinned()
			return err == nil && len(pinned.Ports) == 2 && pinned.Ports[n.index("c1")] == one && pinned.Ports[n.index("c2")] == two
		}
	}
	if !ids(1, 2)() {
		t.Fatal("ports are not what their names say")
	}
	n.rename("c1", "other")
	n.rename("c2", "c1")
	n.rename("other", "c2")
	await.True(t, "ports are what their new names say", ids(1, 2))
	n.rename("c2", "other")
	await.True(t, "a port without a name in the configuration has no program", func() bool { return n.programs("other") == 0 })
	n.wantPorts(a, "c1")
}
