package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/topo"
)

// pathInterfaces brings names, indexes, addresses and speeds of a router.
const pathInterfaces = "/interfaces"

type interfacesDoc struct {
	Interface []interfaceDoc `json:"interface"`
}

type interfaceDoc struct {
	Name  string `json:"name"`
	State struct {
		IfIndex number `json:"ifindex"`
		// OperStatus is UP, DOWN and others that mean down.
		OperStatus string `json:"oper-status"`
		// LineRate is te-lsdb-ext's: the rate the scheduler works with, in bit/s.
		LineRate number `json:"line-rate"`
	} `json:"state"`
	Ethernet struct {
		State struct {
			PortSpeed string `json:"port-speed"`
		} `json:"state"`
	} `json:"ethernet"`
	Subinterfaces struct {
		Subinterface []struct {
			IPv4 addressesDoc `json:"ipv4"`
			IPv6 addressesDoc `json:"ipv6"`
		} `json:"subinterface"`
	} `json:"subinterfaces"`
}

type addressesDoc struct {
	Addresses struct {
		Address []struct {
			State struct {
				IP           netip.Addr `json:"ip"`
				PrefixLength number     `json:"prefix-length"`
			} `json:"state"`
		} `json:"address"`
	} `json:"addresses"`
}

// parseInterfaces reads openconfig-interfaces with openconfig-if-ip and -if-ethernet.
func parseInterfaces(doc []byte) ([]topo.Interface, error) {
	var d interfacesDoc
	if err := decode(doc, &d); err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	var out []topo.Interface
	for _, i := range d.Interface {
		n := topo.Interface{
			Name: i.Name, IfIndex: i.State.IfIndex.uint32(), Up: i.State.OperStatus == "UP", Speed: uint64(i.State.LineRate),
		}
		if n.Speed == 0 {
			n.Speed = portSpeed(i.Ethernet.State.PortSpeed)
		}
		for _, sub := range i.Subinterfaces.Subinterface {
			n.Addresses = append(n.Addresses, sub.IPv4.prefixes()...)
			n.Addresses = append(n.Addresses, sub.IPv6.prefixes()...)
		}
		slices.SortFunc(n.Addresses, comparePrefix)
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b topo.Interface) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (d addressesDoc) prefixes() []netip.Prefix {
	var out []netip.Prefix
	for _, a := range d.Addresses.Address {
		if p := netip.PrefixFrom(a.State.IP, int(a.State.PrefixLength.uint32())); p.IsValid() {
			out = append(out, p)
		}
	}
	return out
}

// portSpeed reads openconfig-if-ethernet identities such as SPEED_100MB and SPEED_10GB; 0 for others.
func portSpeed(identity string) uint64 {
	s, ok := strings.CutPrefix(local(identity), "SPEED_")
	if !ok {
		return 0
	}
	for unit, factor := range map[string]uint64{"MB": 1e6, "GB": 1e9} {
		if digits, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 32)
			if err == nil {
				return n * factor
			}
		}
	}
	return 0
}
