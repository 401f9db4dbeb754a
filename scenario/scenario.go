// Package scenario is the description of one experiment: routers, hosts and
// links, what applications do on them and what must come out.
//
// It knows nothing about how an experiment is run, so that the same file drives
// the virtual-router lab and the simulated twin (docs: design decision 10).
//
// In: scenario.yaml. Out: a checked Scenario; verdicts on measured metrics.
// Next: lab, which builds it on real kernels.
package scenario

import (
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/units"
)

// Scenario is one file.
type Scenario struct {
	// Name is the folder's name: scenario/files/<name>/scenario.yaml.
	Name string `yaml:"name"`
	// Description says in a sentence or two what is being shown.
	Description string `yaml:"description"`
	// Scale says how numbers relate to the source, e.g. "1:100 of paper 002".
	Scale string `yaml:"scale"`
	// IGP is how the routers find their routes.
	IGP IGP `yaml:"igp"`
	// Routers and Hosts share one space of names.
	Routers []Router `yaml:"routers"`
	Hosts   []Host   `yaml:"hosts"`
	Links   []Link   `yaml:"links"`
	// Pairs are alpha pairs that a phase's policy may be compiled with, as if
	// services/alpha had found them.
	Pairs []Pair `yaml:"pairs"`
	// Phases run in this order.
	Phases []Phase `yaml:"phases"`
	// Storm, where given, is run in the place of phases.
	Storm *Storm `yaml:"storm"`
	// Expectations are checked after all phases.
	Expectations []Expectation `yaml:"expectations"`
	// Text is the file as it was read, File its name in messages.
	Text []byte `yaml:"-"`
	File string `yaml:"-"`
	// Files are the scenario's folder: the policies and figures that belong to it.
	Files fs.FS `yaml:"-"`
	// policies stand in for the files that phases name; see UsePolicy.
	policies map[string]PolicyFile
}

// IGP configures OSPF, the same on every router.
type IGP struct {
	// SegmentRouting turns on SR-MPLS with SRGB 16000-23999 and one node SID
	// per router (RFC 8665). It needs a kernel with MPLS.
	SegmentRouting bool `yaml:"segment_routing"`
	// Hello and Dead are OSPF's intervals, whole seconds; default 1 s and 4 s,
	// because with the protocol's own 10 s and 40 s a lab takes 45 s to converge.
	Hello time.Duration `yaml:"hello"`
	Dead  time.Duration `yaml:"dead"`
}

// Router is one FRR instance.
type Router struct {
	Name string `yaml:"name"`
	// Index numbers the router from 1: loopback 10.255.0.<index>/32 and node
	// SID 16000+index. Default: its place in the file.
	Index int `yaml:"index"`
	// NetFlow, where present, exports what enters from hosts.
	NetFlow *NetFlow `yaml:"netflow"`
	// Agent runs `millrace agent` on the router.
	Agent bool `yaml:"agent"`
	// FRR adds to what every router runs (zebra, ospfd, staticd, pathd).
	FRR FRR `yaml:"frr"`
	// VRFs make the router a provider edge; their interfaces take no part in OSPF.
	VRFs    []VRF    `yaml:"vrfs"`
	Daemons []Daemon `yaml:"daemons"`
}

// FRR is what a scenario adds to a router's own configuration.
type FRR struct {
	// Daemons such as bgpd or pbrd.
	Daemons []string `yaml:"daemons"`
	// Configuration is appended to the generated one, in FRR's syntax.
	Configuration string `yaml:"configuration"`
}

// VRF is a customer's routing table on a provider edge (RFC 4364).
type VRF struct {
	Name string `yaml:"name"`
	// Table is the kernel's number of it.
	Table int `yaml:"table"`
	// Interfaces towards the customer.
	Interfaces []string `yaml:"interfaces"`
}

// VRF finds the one an interface is in.
func (r Router) VRF(name string) (VRF, bool) {
	for _, v := range r.VRFs {
		if slices.Contains(v.Interfaces, name) {
			return v, true
		}
	}
	return VRF{}, false
}

// InVRF reports whether an end of a link is in a customer's table.
func (s *Scenario) InVRF(e Endpoint) bool {
	r, ok := s.Router(e.Node)
	if ok {
		_, ok = r.VRF(e.Interface)
	}
	return ok
}

// NetFlow configures the router's exporter.
type NetFlow struct {
	// Version is 5, 9 or 10 (IPFIX); default 9.
	Version int `yaml:"version"`
	// ActiveTimeout is the longest time a running flow goes unreported; default
	// 10 s, so that a lab need not wait a router's usual minute.
	ActiveTimeout time.Duration `yaml:"active_timeout"`
	// Sampling is the 1-in-N packet sampling; default 1, every packet.
	Sampling int `yaml:"sampling"`
}

// Host is an end system with one interface, eth0.
type Host struct {
	Name string `yaml:"name"`
	// Address with prefix length, e.g. 10.1.1.2/24.
	Address netip.Prefix `yaml:"address"`
	// Gateway is the router's address on the same subnet.
	Gateway netip.Addr `yaml:"gateway"`
	Daemons []Daemon   `yaml:"daemons"`
	// Settings are the host's own kernel settings, paths below /proc/sys, such
	// as net/ipv4/tcp_recovery.
	Settings map[string]string `yaml:"settings"`
	// Paced makes the host a traffic generator: the kernel paces every udp stream
	// at its rate, from packets that the sending program queues ahead. A program
	// that is late by less than that leaves no gap and no burst in what it offers.
	Paced bool `yaml:"paced"`
}

// Daemon is a program that runs on a node for as long as the lab is up. It is
// never restarted: a test that kills one wants it dead.
type Daemon struct {
	Name string `yaml:"name"`
	// Command and its arguments. ${millrace} is the product's binary, ${output}
	// the lab's output folder, ${node} and ${address} the node's name and
	// management address.
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
}

// Link is a full-duplex cable; everything holds for each direction.
type Link struct {
	A Endpoint `yaml:"a"`
	B Endpoint `yaml:"b"`
	// Rate is the line rate.
	Rate units.Rate `yaml:"rate"`
	// Buffer is the one default FIFO of a sending interface, in bytes; default
	// 100 ms at line rate, which is what paper 002 measured on its routers.
	Buffer units.Size `yaml:"buffer"`
	// Delay is one-way propagation; default none.
	Delay time.Duration `yaml:"delay"`
	// Loss is the probability, 0 to 1, that a packet is lost on the wire.
	Loss float64 `yaml:"loss"`
	// Cost is the OSPF cost of a link between routers; default 10.
	Cost int `yaml:"cost"`
	// MTU in bytes; default 1500 to hosts and 1600 between routers, which
	// leaves room for a label stack under full-sized packets.
	MTU int `yaml:"mtu"`
}

// Endpoint is one end of a link, written NODE:INTERFACE.
type Endpoint struct {
	Node      string
	Interface string
}

// Phase is a set of applications that run together.
type Phase struct {
	Name string `yaml:"name"`
	// Requires names what must have happened before, e.g. "redirect". The lab
	// alone cannot do it, so `lab run` leaves such phases out and says so.
	Requires string `yaml:"requires"`
	// Repeat takes the applications of an earlier phase.
	Repeat string `yaml:"repeat"`
	// Policy is what routers hold during this phase and the next ones that say
	// nothing. It is compiled, rendered and pushed before the applications start.
	Policy *PolicyUse `yaml:"policy"`
	// Changes put other policies in force while the applications run.
	Changes      []PolicyChange `yaml:"changes"`
	Applications []Application  `yaml:"applications"`
}

// NoPolicy removes everything that is Millrace's from the routers.
const NoPolicy = "none"

// PolicyUse says which policy routers hold, and what differs from its file.
type PolicyUse struct {
	// Use is a file beside scenario.yaml, the name of a shipped policy, or none.
	Use string `yaml:"use"`
	// On lists the routers that get it; default all with an agent. Others keep none.
	On []string `yaml:"on"`
	// Weights and Buffers replace those of the file, percent by queue.
	Weights map[string]uint8 `yaml:"weights"`
	Buffers map[string]uint8 `yaml:"buffers"`
	// Pairs names the scenario's pairs it is compiled with; default all.
	Pairs []string `yaml:"pairs"`
}

// PolicyChange puts a policy in force at an offset from the phase's start, or other costs of links, or both.
type PolicyChange struct {
	At     time.Duration `yaml:"at"`
	Policy PolicyUse     `yaml:"policy"`
	// Costs are OSPF's from then on.
	Costs []InterfaceCost `yaml:"costs"`
}

// InterfaceCost is the OSPF cost of the direction that leaves a router's interface to another router.
type InterfaceCost struct {
	Interface Endpoint `yaml:"interface"`
	Cost      int      `yaml:"cost"`
}

// Pair is one alpha pair, or many with Count.
type Pair struct {
	// Name is fit for a router: a-z, 0-9 and dashes.
	Name string `yaml:"name"`
	// From and To are hosts, whose subnets and routers the pair has.
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Count makes that many more pairs of /24 prefixes nobody sends to, on the
	// same routers: the rest of a large network's alpha pairs.
	Count int `yaml:"count"`
}

// Kind of an application.
type Kind string

// The kinds of applications.
const (
	Ping Kind = "ping" // ICMP echo at Interval
	TCP  Kind = "tcp"  // bulk transfer, as fast as the path allows
	UDP  Kind = "udp"  // constant bit rate
)

// Application is one conversation between two hosts.
type Application struct {
	Name string `yaml:"name"`
	// Group collects applications for summed metrics, e.g. "alpha".
	Group string `yaml:"group"`
	Kind  Kind   `yaml:"kind"`
	From  string `yaml:"from"`
	To    string `yaml:"to"`
	// Start and Stop are offsets from the start of the phase.
	Start time.Duration `yaml:"start"`
	Stop  time.Duration `yaml:"stop"`
	// Port is the receiver's TCP or UDP port; each application needs its own.
	Port uint16 `yaml:"port"`
	// Interval between echo requests (ping), default 100 ms; or the least time between packets
	// sent together (udp), default 4 ms: a shorter one is smoother and costs the guest more.
	Interval time.Duration `yaml:"interval"`
	// Streams in parallel (tcp); default 1.
	Streams int `yaml:"streams"`
	// CongestionControl of the sender (tcp), e.g. htcp; default the kernel's.
	CongestionControl string `yaml:"congestion_control"`
	// Rate of a udp sender's payload.
	Rate units.Rate `yaml:"rate"`
	// FrameRate is a udp sender's rate in Ethernet frames as schedulers count
	// them, 42 bytes more per packet than Rate; give one of the two.
	FrameRate units.Rate `yaml:"frame_rate"`
	// Packet is the udp payload; default 1400 bytes.
	Packet units.Size `yaml:"packet"`
	// DSCP of the packets sent (tcp: by the sender), 0 to 63.
	DSCP int `yaml:"dscp"`
}

// FrameOverhead is what a scheduler counts beside a datagram's payload:
// Ethernet, IPv4 and UDP headers.
const FrameOverhead = 14 + 20 + 8

// PacketsPerSecond of a udp application.
func (a Application) PacketsPerSecond() float64 {
	if a.FrameRate > 0 {
		return float64(a.FrameRate) / 8 / float64(a.Packet+FrameOverhead)
	}
	return float64(a.Rate) / 8 / float64(a.Packet)
}

// WireRate of a udp application is what it offers in Ethernet frames, in bit/s.
func (a Application) WireRate() float64 {
	return a.PacketsPerSecond() * 8 * float64(a.Packet+FrameOverhead)
}

// Expectation is a claim about one metric.
type Expectation struct {
	Name string `yaml:"name"`
	// Metric is PHASE/NAME/STATISTIC, with @FROM-TO for a part of the phase in whole seconds, such as
	// day1/ping/rtt_mean_ms@10s-20s; or several with " + " between them, which are summed.
	Metric string `yaml:"metric"`
	// Op is one of < <= > >= ==, within (Tolerance) and within% (Tolerance in percent of the value).
	Op        string  `yaml:"op"`
	Tolerance float64 `yaml:"tolerance"`
	// Value is compared with; or, where Of is given, Factor times that metric.
	Value  float64 `yaml:"value"`
	Of     string  `yaml:"of"`
	Factor float64 `yaml:"factor"`
	// Paper is the published value beside it, in its own units.
	Paper string `yaml:"paper"`
	// Source cites where the claim comes from.
	Source string `yaml:"source"`
	// Observed, where given, takes the claim out of the verdict and says why: an
	// effect of the source that the lab's scale does not show.
	Observed string `yaml:"observed"`
}

// Duration is how long the phase lasts: until its last application stops.
func (p Phase) Duration() time.Duration {
	var last time.Duration
	for _, a := range p.Applications {
		last = max(last, a.Stop)
	}
	return last
}

// Phase finds a phase by name.
func (s *Scenario) Phase(name string) (Phase, bool) {
	for _, p := range s.Phases {
		if p.Name == name {
			return p, true
		}
	}
	return Phase{}, false
}

// Requires reports whether a phase requires one of these.
func (s *Scenario) Requires(these ...string) bool {
	return slices.ContainsFunc(s.Phases, func(p Phase) bool { return slices.Contains(these, p.Requires) })
}

// Router finds a router by name.
func (s *Scenario) Router(name string) (Router, bool) {
	for _, r := range s.Routers {
		if r.Name == name {
			return r, true
		}
	}
	return Router{}, false
}

// Host finds a host by name.
func (s *Scenario) Host(name string) (Host, bool) {
	for _, h := range s.Hosts {
		if h.Name == name {
			return h, true
		}
	}
	return Host{}, false
}

// Nodes lists routers, then hosts, in the order of the file.
func (s *Scenario) Nodes() []string {
	var names []string
	for _, r := range s.Routers {
		names = append(names, r.Name)
	}
	for _, h := range s.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// CongestionControls lists what TCP senders request beyond the kernel's default.
func (s *Scenario) CongestionControls() []string {
	var names []string
	for _, p := range s.Phases {
		for _, a := range p.Applications {
			if a.CongestionControl != "" && !slices.Contains(names, a.CongestionControl) {
				names = append(names, a.CongestionControl)
			}
		}
	}
	return names
}
