package peagent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/services/peagent/law"
)

// Configuration is pe.yaml.
type Configuration struct {
	// PE is this router's address as the other PEs know it, usually the loopback. Management packets carry it.
	PE netip.Addr `yaml:"pe"`
	// Port is the UDP port of management packets, the same on all PEs.
	Port uint16 `yaml:"port"`
	// Core are the ports towards the core.
	Core []string `yaml:"core"`
	// VPNs that have customers here.
	VPNs []VPN `yaml:"vpns"`
	// Peers are PEs that share bottlenecks with this one but no VPN. PEs at the far end of a VPN need not be named.
	Peers []netip.Addr `yaml:"peers"`
	// Keys is the file of keys that protect management packets; see management.LoadKeys. It is read again when it
	// changes.
	Keys string `yaml:"keys"`
	// Weights is the policy file with the VPNs' weights, read again when it changes; empty gives every VPN weight 1.
	// Weights that a control plane has installed go before it.
	Weights string `yaml:"weights"`
	// Listen is the address of API and metrics, host:port of the loopback; empty serves none. It has no login: every
	// process of the host may read flows and set weights. Other hosts come to Control.
	Listen string `yaml:"listen"`
	// Hosts are names, beside localhost and any IP address, by which clients may address Listen: a web site must not
	// reach it by a name of its own through an operator's browser.
	Hosts []string `yaml:"hosts"`
	// Control is the API for the control plane.
	Control Control `yaml:"control"`
	// State is the file that keeps the control plane's weights over a restart; empty keeps none.
	State string `yaml:"state"`
	// Mode is edt, htb, police, or auto: the best the kernel has.
	Mode string `yaml:"mode"`
	// Queue is the queue limit of each VPN flow, in packets of PacketSize (paper 001, table V: 128).
	Queue int `yaml:"queue"`
	// QueueTime is the lower bound of the queue limit as a time: at 10 Gbit/s 128 packets are 0.15 ms, less than two
	// bursts of segmentation offload.
	QueueTime time.Duration `yaml:"queue_time"`
	// PacketSize, in bytes, is the size of a full packet. Windows are in full packets.
	PacketSize int `yaml:"packet_size"`
	// Overhead, in bytes, is the encapsulation that the core adds to each packet.
	Overhead uint32 `yaml:"overhead"`
	// Delta is the number of data packets per management packet (table V: 4).
	Delta int `yaml:"delta"`
	// PerRoundTrip is the maximum number of management packets per round-trip time. It limits them at high rates.
	PerRoundTrip int `yaml:"per_round_trip"`
	// FailOpen is how long the kernel keeps the rates without an agent.
	FailOpen time.Duration `yaml:"fail_open"`
	// Tick is the period of the control loop.
	Tick time.Duration `yaml:"tick"`
	// Flows and Prefixes are the sizes of the BPF maps.
	Flows    int `yaml:"flows"`
	Prefixes int `yaml:"prefixes"`
	// MarkMask are the bits of the packet mark that carry the VPN flow, ones from bit 0. The default leaves the router
	// agent's bits alone and numbers 65,533 flows; without a router agent 0xffffff numbers 16 million.
	MarkMask uint32 `yaml:"mark_mask"`
	// Pins is the folder in a bpf file system where the maps are pinned over a restart.
	Pins string `yaml:"pins"`
	// FRR is the source of the VRFs' routes.
	FRR FRR `yaml:"frr"`
	Law Law `yaml:"law"`
	// file is what this was loaded from; empty: it was made in another way.
	file string
}

// VPN is one customer network.
type VPN struct {
	Name string `yaml:"name"`
	// ID is the VPN's number, the same on all PEs.
	ID uint32 `yaml:"id"`
	// Ports towards the customer.
	Ports []string `yaml:"ports"`
	// VRF is the VRF in FRR whose BGP routes map prefixes to PEs; empty reads none.
	VRF string `yaml:"vrf"`
	// Remotes are static routes.
	Remotes []Remote `yaml:"remotes"`
	// Prefixes is this VPN's share of the table of prefixes, and a fourth of it for IPv6; 0: VPNs without a share of
	// their own have room for their configured routes, and those with a VRF divide the rest as equally as can be.
	Prefixes int `yaml:"prefixes"`
}

// Remote is a PE and the prefixes of the VPN behind it.
type Remote struct {
	PE       netip.Addr     `yaml:"pe"`
	Prefixes []netip.Prefix `yaml:"prefixes"`
}

// FRR configures access to FRR.
type FRR struct {
	// Instance is vtysh -N; empty is the default instance.
	Instance string `yaml:"instance"`
	// Every is how often routes are read.
	Every time.Duration `yaml:"every"`
}

// Law has the parameters of the control law that can be configured.
type Law struct {
	A float64 `yaml:"a"`
	B float64 `yaml:"b"`
}

// DefaultConfiguration follows table V of paper 001 where it has a value.
func DefaultConfiguration() Configuration {
	return Configuration{
		Port: 4756, Mode: "auto", Queue: 128, QueueTime: 5 * time.Millisecond, PacketSize: 1514, Delta: 4, PerRoundTrip: 8,
		FailOpen: 2 * time.Second, Tick: 5 * time.Millisecond, Flows: 4096, Prefixes: 16384, MarkMask: 0xffff,
		Pins: "/sys/fs/bpf/millrace/pe", State: "/var/lib/millrace-pe-agent/pe-weights.json", FRR: FRR{Every: 5 * time.Second},
		Law: Law{A: 0.1, B: 0.1},
	}
}

// sequenceFile lies beside the kept weights; empty where those are not kept.
func (c Configuration) sequenceFile() string {
	if c.State == "" {
		return ""
	}
	return c.State + ".sequence"
}

// Load reads a file over the defaults; unknown keys fail.
func Load(path string) (Configuration, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Configuration{}, fmt.Errorf("read configuration: %w", err)
	}
	c := DefaultConfiguration()
	c.file = path
	if err := yaml.UnmarshalWithOptions(raw, &c, yaml.Strict()); err != nil {
		return Configuration{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	if err := c.Validate(); err != nil {
		return Configuration{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

// Validate reports all errors at once.
func (c Configuration) Validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(c.PE.Is4(), "pe: give this router's IPv4 address, usually its loopback's")
	need(len(c.Core) > 0, "core: name at least one port towards the core")
	need(c.Keys != "", "keys: name the file of keys")
	need(c.Listen == "" || onLoopback(c.Listen), "listen: %s is reached from other hosts and has no login: use an address of the loopback, such as 127.0.0.1:4756, and control for other hosts", c.Listen)
	need(c.Port != 0, "port: must not be 0")
	need(c.Queue > 0 && c.PacketSize >= 64, "queue and packet_size: at least one packet of 64 bytes")
	need(c.Delta > 0 && c.PerRoundTrip > 0, "delta and per_round_trip: at least 1")
	need(c.Tick >= time.Millisecond && c.FailOpen >= 10*c.Tick, "tick: at least 1ms, and fail_open at least ten ticks")
	need(c.Flows > 0 && c.Prefixes > 0, "flows and prefixes: at least 1")
	_, err := parseMode(c.Mode)
	need(err == nil, "mode: %q is not auto, edt, htb or police", c.Mode)
	shares := 0
	for _, v := range c.VPNs {
		need(v.Prefixes >= 0, "vpn %s: prefixes must not be negative", v.Name)
		shares += v.Prefixes
	}
	need(shares <= c.Prefixes, "vpns: their prefixes are %d together; the table has %d", shares, c.Prefixes)
	names, ids, ports := map[string]bool{}, map[uint32]bool{}, map[string]bool{}
	for _, p := range c.Core {
		ports[p] = true
	}
	for _, v := range c.VPNs {
		need(v.Name != "" && !names[v.Name], "vpns: name %q is empty or used twice", v.Name)
		need(v.ID != 0 && !ids[v.ID], "vpn %s: id %d is 0 or used twice", v.Name, v.ID)
		names[v.Name], ids[v.ID] = true, true
		for _, p := range v.Ports {
			need(!ports[p], "vpn %s: port %s is used twice", v.Name, p)
			ports[p] = true
		}
		for _, r := range v.Remotes {
			need(r.PE.Is4() && r.PE != c.PE, "vpn %s: remote PE %s must be another router's IPv4 address", v.Name, r.PE)
			for _, p := range r.Prefixes {
				need(p.IsValid() && !p.Addr().Is4In6(), "vpn %s: prefix %s is neither IPv4 nor IPv6", v.Name, p)
			}
		}
	}
	return errors.Join(append(errs, c.Control.validate(), c.parameters().Validate())...)
}

// customers returns all ports towards customers.
func (c Configuration) customers() (ports []string) {
	for _, v := range c.VPNs {
		ports = append(ports, v.Ports...)
	}
	return ports
}

func (c Configuration) parameters() law.Parameters {
	p := law.DefaultParameters()
	p.A, p.B = c.Law.A, c.Law.B
	p.MaxB = max(p.MaxB, p.B)
	return p
}

// onLoopback is true for an address that only this host reaches.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// watchRoles reads the roles again when the file changes that the configuration was loaded from.
func (c Configuration) watchRoles(log *slog.Logger, refused func(bool)) (*access.Watched[access.Roles], error) {
	if c.file == "" {
		return access.Watch(log, refused, func() (access.Roles, error) { return c.Control.access(), nil })
	}
	load := func() (access.Roles, error) {
		now, err := Load(c.file)
		return now.Control.access(), err
	}
	return access.Watch(log, refused, load, c.file)
}
