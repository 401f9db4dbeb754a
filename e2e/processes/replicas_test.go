package processes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/standstill"
)

// secondPorts are where second replicas listen: the second addresses of endpoints.
var secondPorts = map[string]int{"topology": 7013, "telemetry": 7014, "policy": 7015, "push": 7016}

// checkReplicas starts second replicas. Of the topology collector one leads, and another one when that is killed, and
// when it stands still; the telemetry collectors share the routers, and know when one has died.
func (p *plane) checkReplicas(t *testing.T) {
	t.Helper()
	p.second(t, "topology")
	p.second(t, "telemetry")
	p.waitShared(t, "telemetry is shared by two", "telemetry", func(s program.Shared) bool { return len(s.Members) == 2 })
	dead := p.waitLeader(t, "", "topology", "topology-2")
	p.kill(t, dead)
	is := p.waitLeader(t, dead, "topology", "topology-2")
	p.again(t, dead)
	if err := standstill.Stop(p.running[is].Pid()); err != nil {
		t.Fatal(err)
	}
	p.waitLeader(t, is, "topology", "topology-2")
	if err := standstill.Continue(p.running[is].Pid()); err != nil {
		t.Fatal(err)
	}
	p.waitMetricAt(t, p.urlOf(is), "millrace_collectors_topology_leader", 0)

	p.kill(t, "telemetry")
	left := p.running["telemetry-2"].Pid()
	p.waitShared(t, "telemetry has one replica left", "telemetry", func(s program.Shared) bool {
		return len(s.Members) == 1 && program.PIDOf(s.Members[0]) == left
	})
	p.waitMetricAt(t, p.urlOf("telemetry-2"), "millrace_collectors_telemetry_own_devices", 1)
	p.start(t, "telemetry")
}

// checkFailover kills the first replica of push under the others that call it, and has that of policy stand still: the
// dashboard's gateway goes on to the second push, which goes on to the second policy.
func (p *plane) checkFailover(t *testing.T, pair string) {
	t.Helper()
	p.second(t, "policy")
	p.second(t, "push")
	p.kill(t, "push")
	p.left(t, "push")
	p.running["policy"].Stand(t)
	p.checkPlanned(t, pair)
	p.waitMetricAt(t, p.url("dashboard"), fmt.Sprintf("millrace_cmd_failed_over_calls_total{address=%q,service=%q}", p.url("push"), "push"), 1)
	p.waitMetricAt(t, p.urlOf("push-2"), fmt.Sprintf("millrace_cmd_failed_over_calls_total{address=%q,service=%q}", p.url("policy"), "policy"), 1)
	p.running["policy"].Move(t)
	p.start(t, "push")
}

// left waits until nobody has a connection to a process that was killed. A caller that has not seen yet that its
// connection has ended may write a whole call to it, and then cannot know whether it was done.
func (p *plane) left(t *testing.T, name string) {
	t.Helper()
	to, err := netip.ParseAddrPort(strings.TrimPrefix(p.urlOf(name), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	program.Until(t, "callers of "+name+" know that it is gone", func() (bool, any) {
		all, err := netlink.SocketDiagTCP(unix.AF_INET)
		if err != nil {
			return false, err
		}
		for _, s := range all {
			open := s.State == netlink.TCP_ESTABLISHED || s.State == netlink.TCP_CLOSE_WAIT
			if open && s.ID.DestinationPort == to.Port() && s.ID.Destination.Equal(to.Addr().AsSlice()) {
				return false, s.ID
			}
		}
		return true, nil
	})
}

// second starts another replica of a service, on a port of its own.
func (p *plane) second(t *testing.T, service string) {
	t.Helper()
	name := service + "-2"
	p.launch(t, name, service)
	p.running[name].WaitReady(t, p.urlOf(name))
}

// again starts one that was killed.
func (p *plane) again(t *testing.T, name string) {
	t.Helper()
	if service, second := strings.CutSuffix(name, "-2"); second {
		p.second(t, service)
		return
	}
	p.start(t, name)
}

// urlOf is where a replica listens.
func (p *plane) urlOf(name string) string {
	if service, second := strings.CutSuffix(name, "-2"); second {
		return fmt.Sprintf("http://%s:%d", p.host, secondPorts[service])
	}
	return p.url(name)
}

// waitLeader waits until one of the replicas leads, and not the one that did before.
func (p *plane) waitLeader(t *testing.T, before string, replicas ...string) (leader string) {
	t.Helper()
	p.waitShared(t, "another replica than "+before+" leads", strings.TrimSuffix(replicas[0], "-2"), func(s program.Shared) bool {
		for _, name := range replicas {
			if name != before && p.running[name].Pid() == program.PIDOf(s.Leader) {
				leader = name
				return true
			}
		}
		return false
	})
	return leader
}

func (p *plane) waitShared(t *testing.T, what, service string, fact func(program.Shared) bool) {
	t.Helper()
	program.Until(t, what, func() (bool, any) {
		r, err := http.Get(p.url("dashboard") + "/replicas")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		var all []program.Shared
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
			return false, fmt.Errorf("%s: %w", r.Status, err)
		}
		for _, s := range all {
			if s.Service == service {
				return fact(s), s
			}
		}
		return false, all
	})
}
