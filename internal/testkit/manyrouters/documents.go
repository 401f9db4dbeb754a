package manyrouters

import (
	"fmt"
	"strings"
)

// The paths that collectors/topology reads.
const (
	pathInterfaces = "/interfaces"
	pathProtocols  = "/network-instances/network-instance[name=DEFAULT]/protocols"
)

// CountersPerPort is how many of each port are sampled.
var CountersPerPort = len(counters)

// rate is that of every port, in bit/s.
const rate = 10_000_000_000

// counters of a port, of openconfig-interfaces, as a router has them.
var counters = []string{
	"in-octets", "in-pkts", "in-unicast-pkts", "in-discards", "in-errors", "in-multicast-pkts",
	"out-octets", "out-pkts", "out-unicast-pkts", "out-discards", "out-errors", "out-multicast-pkts",
}

// interfaces is the openconfig-interfaces document of a router.
func interfaces(r *router) string {
	var out []string
	for _, l := range r.links {
		for _, e := range l.ends {
			if e.at == r {
				out = append(out, port(e.port, len(out)+2, l.down.Load(), fmt.Sprintf(`,"openconfig-if-ip:ipv4":{"addresses":{"address":[{"ip":%[1]q,"state":{"ip":%[1]q,"prefix-length":30}}]}}`, e.address)))
			}
		}
	}
	for _, name := range r.spare {
		out = append(out, port(name, len(out)+2, false, ""))
	}
	return `{"openconfig-interfaces:interface":[` + strings.Join(out, ",") + `]}`
}

func port(name string, index int, down bool, addresses string) string {
	zero := make([]string, 0, len(counters))
	for _, c := range counters {
		zero = append(zero, fmt.Sprintf("%q:%q", c, "0"))
	}
	return fmt.Sprintf(`{"name":%[1]q,"openconfig-if-ethernet:ethernet":{"state":{"mac-address":"02:00:00:00:00:01","port-speed":"openconfig-if-ethernet:SPEED_10GB"}},`+
		`"state":{"admin-status":"UP","counters":{%[2]s},"ifindex":%[3]d,"mtu":9000,"name":%[1]q,"oper-status":%[4]q,"te-lsdb-ext:line-rate":"%[5]d"},`+
		`"subinterfaces":{"subinterface":[{"index":0%[6]s}]}}`, name, strings.Join(zero, ","), index, operState(down), rate, addresses)
}

func operState(down bool) string {
	if down {
		return "DOWN"
	}
	return "UP"
}

// database is the link-state database with the links that are up, in the shape of te-lsdb-ext.
func (n *Network) database() string {
	nodes := make([]string, 0, len(n.routers))
	for _, r := range n.routers {
		nodes = append(nodes, node(r))
	}
	return `{"openconfig-network-instance:protocol":[{"identifier":"openconfig-policy-types:OSPF","name":"ospf","ospfv2":{"areas":{"area":[` +
		`{"identifier":"0.0.0.0","te-lsdb-ext:ted":{"nodes":{"node":[` + strings.Join(nodes, ",") + `]}}}]}}}]}`
}

func node(r *router) string {
	var links []string
	for _, l := range r.links {
		here, there := l.ends[0], l.ends[1]
		if there.at == r {
			here, there = there, here
		}
		if !l.down.Load() {
			links = append(links, fmt.Sprintf(`{"local-address":%[1]q,"state":{"igp-metric":10,"local-address":%[1]q,"maximum-bandwidth":"%[2]d","remote-address":%[3]q,"remote-router-id":%[4]q,"te-metric":10}}`,
				here.address, rate, there.address, there.at.loopback))
		}
	}
	return fmt.Sprintf(`{"links":{"link":[%[1]s]},"prefixes":{"prefix":[{"prefix":"%[2]s/32","state":{"metric":0,"prefix":"%[2]s/32"}}]},"router-id":%[2]q,"state":{"loopback":%[2]q,"router-id":%[2]q}}`,
		strings.Join(links, ","), r.loopback)
}
