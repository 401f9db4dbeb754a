package dashboard

import (
	"fmt"
	"net"
	"net/netip"
)

// Configuration of the dashboard and API gateway.
type Configuration struct {
	// Listen is host:port of the one port that serves page, APIs and metrics. Default 127.0.0.1:8080.
	Listen string `yaml:"listen"`
	// AllowRemote lets Listen be an address other hosts can reach. With
	// identity.mode off nobody logs in: any client that reaches the port can approve changes. Default false.
	AllowRemote bool `yaml:"allow_remote"`
	// Hosts are names, beside localhost and any IP address, by which browsers
	// may address the dashboard. Default none.
	Hosts []string `yaml:"hosts"`
	// RecentEvents is how many events are kept for pages that connect later. Default 500.
	RecentEvents int `yaml:"recent_events"`
	// Papers is a folder written by `millrace papers --page`, or a file written by `millrace papers --json`, to show
	// instead of the results that the binary was built with. Default none.
	Papers string `yaml:"papers"`
}

// DefaultConfiguration serves this host only.
func DefaultConfiguration() Configuration {
	return Configuration{Listen: "127.0.0.1:8080", RecentEvents: 500}
}

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("dashboard listen %q is not host:port, such as 127.0.0.1:8080: %w", c.Listen, err)
	}
	if c.RecentEvents < 1 {
		return fmt.Errorf("dashboard recent_events is %d; write at least 1", c.RecentEvents)
	}
	return nil
}

// checkAddress refuses addresses off the loopback unless they were asked for.
func (c Configuration) checkAddress(addr net.Addr) error {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil || c.AllowRemote || ap.Addr().Unmap().IsLoopback() {
		return nil // not an IP listener, such as a unix socket, or wanted
	}
	return fmt.Errorf("dashboard would listen on %s, where other hosts reach it without a login; "+
		"use a loopback address, or set allow_remote where identity.mode is on, or where something in front of it authenticates", addr)
}
