package peagent

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const sample = `
pe: 10.255.0.1
core: [ge-p1]
keys: /etc/millrace/pe.keys
vpns:
  - {name: red, id: 1, ports: [ge-ce1], vrf: red}
  - name: blue
    id: 2
    ports: [ge-ce2]
    remotes: [{pe: 10.255.0.3, prefixes: [10.2.0.0/16]}]
`

func TestConfigurations(t *testing.T) {
	for _, c := range []struct{ name, change, to, want string }{
		{"as it should be", "", "", ""},
		{"an unknown key", "core:", "cores:", "cores"},
		{"no keys", "keys: /etc/millrace/pe.keys", "keys: \"\"", "keys: name the file"},
		{"a port twice", "ge-ce2", "ge-ce1", "port ge-ce1 is used twice"},
		{"a core port as customer port", "ge-ce2", "ge-p1", "port ge-p1 is used twice"},
		{"an id twice", "id: 2", "id: 1", "id 1 is 0 or used twice"},
		{"an IPv6 prefix", "10.2.0.0/16", "2001:db8::/32", ""},
		{"an IPv4 prefix in the form of IPv6", "10.2.0.0/16", "\"::ffff:10.2.0.0/112\"", "neither IPv4 nor IPv6"},
		{"itself as remote PE", "10.255.0.3", "10.255.0.1", "another router"},
		{"an unknown mode", "pe:", "mode: fast\npe:", "mode"},
		{"a control port that anybody could use", "pe:", "control: {listen: 10.0.0.1:4757}\npe:", "only over mutual TLS"},
		{"a control port that nobody could use", "pe:", "control: {listen: 10.0.0.1:4757, ca: a, cert: b, key: c}\npe:", "controllers: [controller]"},
		{"a role that there is not", "pe:", "control: {listen: 10.0.0.1:4757, ca: a, cert: b, key: c, roles: {x: root}}\npe:", "write viewer or operator"},
		{"a controller that is a viewer", "pe:", "control: {listen: 10.0.0.1:4757, ca: a, cert: b, key: c, controllers: [x], roles: {x: viewer}}\npe:", "name it once"},
		{"viewers alone", "pe:", "control: {listen: 10.0.0.1:4757, ca: a, cert: b, key: c, roles: {x: viewer}}\npe:", ""},
		{"an overdue CRL good for nothing", "pe:", "control: {listen: 10.0.0.1:4757, ca: a, cert: b, key: c, crl_overdue: ignore, controllers: [x]}\npe:", "write use or refuse"},
		{"no login on the loopback", "pe:", "listen: \"[::1]:4756\"\npe:", ""},
		{"no login on all addresses", "pe:", "listen: :4756\npe:", "has no login"},
		{"no login on a network", "pe:", "listen: 192.0.2.1:4756\npe:", "has no login"},
		{"no login on a name", "pe:", "listen: pe1.example.net:4756\npe:", "has no login"},
		{"no port", "pe:", "listen: 127.0.0.1\npe:", "has no login"},
		{"b of one", "pe:", "law: {a: 0.1, b: 1}\npe:", "b is 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pe.yaml")
			text := sample
			if c.change != "" {
				text = strings.Replace(sample, c.change, c.to, 1)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(path)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Output of FRR 8.4.4 for a VRF with one BGP route from another PE and one leaked locally.
const frrRoutes = `{"10.2.1.0/24":[{"prefix":"10.2.1.0/24","protocol":"bgp","vrfName":"red","selected":true,"installed":true,
"nexthops":[{"flags":5,"ip":"10.255.0.3","afi":"ipv4","vrf":"default","active":true,"recursive":true,"labels":[17]},
{"fib":true,"ip":"10.254.0.2","afi":"ipv4","interfaceName":"core","active":true,"labels":[16003,17]}]}],
"10.9.0.0/24":[{"protocol":"bgp","selected":true,"nexthops":[{"interfaceName":"blue","directlyConnected":true}]}],
"10.3.0.0/24":[{"protocol":"bgp","nexthops":[{"ip":"10.255.0.4","recursive":true}]}]}`

func TestRoutesOfFRR(t *testing.T) {
	got, err := parseRoutes([]byte(frrRoutes))
	if err != nil {
		t.Fatal(err)
	}
	want := map[netip.Prefix]netip.Addr{netip.MustParsePrefix("10.2.1.0/24"): netip.MustParseAddr("10.255.0.3")}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// IPv6 of a VPN over an MPLS core: the far PE is an IPv4 address in the form of IPv6 (RFC 4659).
	got, err = parseRoutes([]byte(`{"2001:db8:2::/48":[{"protocol":"bgp","selected":true,"nexthops":[{"ip":"::ffff:10.255.0.3","afi":"ipv6","recursive":true}]}]}`))
	want = map[netip.Prefix]netip.Addr{netip.MustParsePrefix("2001:db8:2::/48"): netip.MustParseAddr("10.255.0.3")}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" || err != nil {
		t.Errorf("IPv6: %v (-want +got):\n%s", err, diff)
	}
	if _, err := parseRoutes([]byte("% VRF red not found")); err == nil {
		t.Error("an error message was read as routes")
	}
}
