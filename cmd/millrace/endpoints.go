package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// addresses are the base URLs of the replicas of a service: in a file one URL, or a list of them.
type addresses []string

// UnmarshalYAML reads either. An empty text is no address.
func (a *addresses) UnmarshalYAML(read func(any) error) error {
	var one string
	if read(&one) == nil {
		*a = nil
		if one != "" {
			*a = addresses{trimmed(one)}
		}
		return nil
	}
	var list []string
	if err := read(&list); err != nil {
		return errors.New("endpoints: write a URL, or a list of URLs")
	}
	*a = make(addresses, len(list))
	for i, one := range list {
		(*a)[i] = trimmed(one)
	}
	return nil
}

// MarshalYAML writes one as it is most often written.
func (a addresses) MarshalYAML() (any, error) {
	switch len(a) {
	case 0:
		return "", nil
	case 1:
		return a[0], nil
	}
	return []string(a), nil
}

// first is the one that the others are alternatives of; empty: there is none.
func (a addresses) first() string {
	if len(a) == 0 {
		return ""
	}
	return a[0]
}

func (a addresses) String() string { return strings.Join(a, ", ") }

// knownEndpoints rejects the key of a service that does not exist: no service would use a misspelt endpoint. An address
// that is there twice is a mistake, too.
func knownEndpoints(endpoints map[string]addresses) error {
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		if !slices.Contains(serviceNames(), name) {
			return fmt.Errorf("endpoints.%s: no service is called %s; there are %s", name, name, strings.Join(serviceNames(), ", "))
		}
		for i, a := range endpoints[name] {
			if slices.Contains(endpoints[name][:i], a) {
				return fmt.Errorf("endpoints.%s has %s twice", name, a)
			}
		}
	}
	return nil
}

// ownAddress is the host:port at which a process listens that was not told: that of its only address, or of the one
// among several that is on this host.
func ownAddress(name string, all addresses, here func(host string) bool) (string, error) {
	var own []string
	for _, a := range all {
		u, err := url.Parse(a)
		if err != nil || u.Port() == "" {
			return "", fmt.Errorf("endpoints.%s is %q: write the URL at which others reach this service, with its port, such as http://127.0.0.1:7001", name, a)
		}
		if len(all) == 1 || here(u.Hostname()) {
			own = append(own, u.Host)
		}
	}
	switch {
	case len(all) == 0:
		return "", fmt.Errorf("endpoints.%s is missing: write the URL at which others reach this service, such as http://127.0.0.1:7001", name)
	case len(own) == 0:
		return "", fmt.Errorf("none of endpoints.%s (%s) is an address of this host: say where this process listens, such as --listen :7001", name, all)
	case len(own) > 1:
		return "", fmt.Errorf("several of endpoints.%s are addresses of this host: say which one is this process's, such as --listen %s", name, own[0])
	}
	return own[0], nil
}

// onThisHost reports whether a host is this one: an address of one of its interfaces, or a name of such an address.
func onThisHost(host string) bool {
	ips, err := net.LookupIP(host) // an address is its own
	if err != nil {
		return false
	}
	locals, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.IsLoopback() || slices.ContainsFunc(locals, func(l net.Addr) bool {
			own, err := netip.ParsePrefix(l.String())
			return err == nil && net.IP(own.Addr().AsSlice()).Equal(ip)
		})
	})
}

func trimmed(server string) string { return strings.TrimRight(server, "/") }
