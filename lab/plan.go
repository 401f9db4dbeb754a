package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/scenario"
)

// Plan is everything that the guest has to build, computed from the scenario
// alone: the same scenario always gives the same plan, and tests read it as text.
type Plan struct {
	// Modules are loaded first, into a UML kernel only.
	Modules []string `json:"modules"`
	// Settings of the guest's kernel, path below /proc/sys → value.
	Settings []Setting `json:"settings"`
	// Namespaces are made first, then Root runs in the guest's own namespace,
	// because a link's two ends can only be handed out from outside both.
	Namespaces []string `json:"namespaces"`
	Root       Batch    `json:"root"`
	// Nodes are then configured one by one, wire last.
	Nodes []NodePlan `json:"nodes"`
}

// Batch is input for `ip -batch` and `tc -batch`.
type Batch struct {
	IP []string `json:"ip,omitempty"`
	TC []string `json:"tc,omitempty"`
}

// Setting is one sysctl.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// NodePlan is one namespace.
type NodePlan struct {
	Name     string    `json:"name"`
	Router   bool      `json:"router"`
	Settings []Setting `json:"settings,omitempty"`
	Batch    Batch     `json:"batch"`
	// Plain interfaces are those on which segmentation and receive offloads are turned off: a
	// queue counted in packets must see packets.
	Plain []string `json:"plain,omitempty"`
	// FRR is the router's configuration; empty on hosts.
	FRR     string            `json:"frr,omitempty"`
	FRRD    []string          `json:"frr_daemons,omitempty"`
	Daemons []scenario.Daemon `json:"daemons,omitempty"`
}

const wire = "wire"

// newPlan computes the plan. Folder is the lab's output folder, binary the
// product's program as the guest sees it.
func newPlan(s *scenario.Scenario, folder, binary string) Plan {
	p := Plan{
		Modules:    modules(s),
		Settings:   guestSettings(s),
		Namespaces: append(s.Nodes(), wire),
	}
	nodes := map[string]*NodePlan{}
	order := make([]*NodePlan, 0, len(p.Namespaces))
	for i, name := range p.Namespaces {
		n := &NodePlan{Name: name}
		_, n.Router = s.Router(name)
		n.Batch.IP = append(n.Batch.IP, "link set lo up")
		if name != wire {
			p.Root.IP = append(p.Root.IP,
				fmt.Sprintf("link add m%d mtu 1500 master mgmt type veth peer name mgmt0 address %s netns %s", i, mac(0xff, i, 0), name),
				fmt.Sprintf("link set m%d up", i))
			n.Batch.IP = append(n.Batch.IP,
				fmt.Sprintf("address add %s/%d dev mgmt0", s.ManagementAddress(name), scenario.ManagementBits), "link set mgmt0 up")
		}
		nodes[name], order = n, append(order, n)
	}
	for _, r := range s.Routers {
		p.Root.IP = append(p.Root.IP, joinVRFs(r, nodes[r.Name])...)
	}
	for i := range s.Links {
		p.Root.IP = append(p.Root.IP, joinLink(s, i, nodes)...)
	}
	for _, r := range s.Routers {
		finishRouter(s, r, nodes[r.Name], folder, binary)
	}
	for _, h := range s.Hosts {
		n := nodes[h.Name]
		n.Settings = append(n.Settings, hostSettings()...)
		for _, key := range slices.Sorted(maps.Keys(h.Settings)) {
			n.Settings = append(n.Settings, Setting{key, h.Settings[key]})
		}
		n.Batch.IP = append(n.Batch.IP, fmt.Sprintf("route add default via %s", h.Gateway))
		n.Daemons = expandDaemons(s, h.Name, h.Daemons, folder, binary)
	}
	for _, n := range order {
		p.Nodes = append(p.Nodes, *n)
	}
	return p
}

// modules are what the scenario needs of Debian's UML kernel.
func modules(s *scenario.Scenario) []string {
	list := []string{"ipv6", "veth", "bridge", "sch_tbf", "sch_htb", "sch_netem", "sch_ingress", "cls_bpf", "cls_matchall", "act_mirred"}
	if s.IGP.SegmentRouting {
		list = append(list, "mpls_router", "mpls_iptunnel")
	}
	for _, r := range s.Routers {
		if len(r.VRFs) > 0 { // fq paces, where a provider edge shapes its customers
			list = append(list, "vrf", "sch_fq")
			break
		}
	}
	for _, cc := range s.CongestionControls() {
		if cc != "reno" { // part of every kernel's TCP
			list = append(list, "tcp_"+cc)
		}
	}
	return list
}

// finishRouter adds what a router has beyond its links.
func finishRouter(s *scenario.Scenario, r scenario.Router, n *NodePlan, folder, binary string) {
	n.Settings = append(n.Settings, routerSettings(s, r)...)
	n.Batch.IP = append(n.Batch.IP, fmt.Sprintf("address add %s/32 dev lo", r.Loopback()))
	n.FRR = frrConfig(s, r)
	n.FRRD = []string{"zebra", "ospfd", "staticd"}
	if s.IGP.SegmentRouting {
		n.FRRD = append(n.FRRD, "pathd -M pathd_pcep")
	}
	n.FRRD = append(n.FRRD, r.FRR.Daemons...)
	n.Daemons = append(n.Daemons, netflowDaemon(s, r)...)
	if r.Agent {
		n.Daemons = append(n.Daemons, scenario.Daemon{
			Name:    agentDaemon,
			Command: []string{"nice", "-n", strconv.Itoa(controlNice), binary, "agent", "--config", agentConfigFile(folder, r.Name)},
		})
	}
	n.Daemons = append(n.Daemons, expandDaemons(s, r.Name, r.Daemons, folder, binary)...)
}

// netflowDaemon is one softflowd for all of a router's access interfaces, so
// that the exporter has one source id and one gapless sequence. It listens on
// the pseudo-interface `any`; the filter keeps what enters from the router's own
// hosts, because transit packets are the ingress router's to report (paper 002
// collects at ingress routers) and leaving packets would be counted twice.
func netflowDaemon(s *scenario.Scenario, r scenario.Router) []scenario.Daemon {
	subnets := attachedSubnets(s, r.Name)
	if r.NetFlow == nil || len(subnets) == 0 {
		return nil
	}
	n := r.NetFlow
	life := int(n.ActiveTimeout.Seconds())
	command := []string{"softflowd", "-d", "-i", "any", "-v", fmt.Sprint(n.Version),
		"-n", fmt.Sprintf("%s:%d", ControllerAddress, netflowPort),
		"-s", fmt.Sprint(n.Sampling), "-m", "65536",
		"-p", "/run/softflowd." + r.Name + ".pid", "-c", exporterSocket(r),
		"-t", fmt.Sprintf("maxlife=%d", life), "-t", fmt.Sprintf("expint=%d", max(life/5, 1)),
		"-t", fmt.Sprintf("tcp=%d", life), "-t", fmt.Sprintf("udp=%d", life), "-t", fmt.Sprintf("icmp=%d", life),
		"-t", fmt.Sprintf("general=%d", life), "-t", "tcp.fin=1", "-t", "tcp.rst=1",
		"inbound and (src net " + strings.Join(subnets, " or src net ") + ")"}
	return []scenario.Daemon{{Name: "softflowd", Command: command}}
}

// controlNice is the niceness of routers' agents: on a real router they do not
// share a processor with forwarding.
const controlNice = 10

func exporterSocket(r scenario.Router) string { return "/run/softflowd." + r.Name + ".ctl" }

// ExporterControl is the socket through which softflowctl on the router reaches
// its exporter; false where the router has none.
func ExporterControl(s *scenario.Scenario, r scenario.Router) (string, bool) {
	return exporterSocket(r), len(netflowDaemon(s, r)) > 0
}

func attachedSubnets(s *scenario.Scenario, router string) []string {
	var subnets []string
	for _, h := range s.Hosts {
		if e, _, ok := s.Attachment(h.Name); ok && e.Node == router {
			subnets = append(subnets, h.Address.Masked().String())
		}
	}
	return subnets
}

func expandDaemons(s *scenario.Scenario, node string, all []scenario.Daemon, folder, binary string) []scenario.Daemon {
	replace := strings.NewReplacer("${millrace}", binary, "${output}", folder, "${node}", node,
		"${address}", s.ManagementAddress(node).String())
	expanded := make([]scenario.Daemon, 0, len(all))
	for _, d := range all {
		command := make([]string, len(d.Command))
		for i, word := range d.Command {
			command[i] = replace.Replace(word)
		}
		d.Command = command
		expanded = append(expanded, d)
	}
	return expanded
}

// agentDaemon is the router agent's name among the daemons.
const agentDaemon = "agent"

func agentConfigFile(folder, router string) string {
	return filepath.Join(folder, "agents", router, "agent.yaml")
}
