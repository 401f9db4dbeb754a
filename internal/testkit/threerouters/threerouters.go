// Package threerouters are routers for tests of the whole program: WR, ER and CR in a triangle of 100 Mbit/s, each with
// the same recorded link-state database.
//
// In: a folder. Out: gNMI servers that end with the test, and an inventory that names them.
// Next: e2e/page, e2e/probe.
package threerouters

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// recorded is seen from a package two levels down, which is where tests of the whole program are.
const recorded = "../../collectors/topology/testdata/protocols.json"

// Write starts three routers, each with the same recorded database, and names them.
func Write(t *testing.T, folder string) {
	t.Helper()
	database, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	ca := pki.New(t)
	own, err := tls.LoadX509KeyPair(ca.Issue(t, "router", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	certs := gnmitest.Certs{Server: &tls.Config{
		Certificates: []tls.Certificate{own}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}}
	cert, key := ca.Issue(t, "controller")
	out := fmt.Sprintf("tls: {ca: %q, cert: %q, key: %q}\ndevices:\n", ca.CA, cert, key)
	for i, r := range []struct {
		name  string
		ports []string
	}{
		{"wr", []string{"to-er 10.0.12.1", "to-cr 10.0.13.1"}},
		{"er", []string{"to-wr 10.0.12.2", "to-cr 10.0.23.2"}},
		{"cr", []string{"to-wr 10.0.13.2", "to-er 10.0.23.1"}},
	} {
		s := gnmitest.New(t, r.name, certs)
		s.Serve("/interfaces", interfaces(r.ports))
		s.Serve("/network-instances/network-instance[name=DEFAULT]/protocols", string(database))
		s.Start(t)
		out += fmt.Sprintf("  - {name: %s, address: %q, loopback: 10.255.0.%d}\n", r.name, s.Device.Address, i+1)
	}
	if err := os.WriteFile(filepath.Join(folder, "inventory.yaml"), []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
}

// interfaces is an openconfig-interfaces document of ports, "name address" each, of 100 Mbit/s.
func interfaces(ports []string) string {
	var out []string
	for i, p := range ports {
		name, address, _ := strings.Cut(p, " ")
		out = append(out, fmt.Sprintf(`{"name":%q,"state":{"ifindex":%d,"oper-status":"UP","te-lsdb-ext:line-rate":"100000000"},
			"subinterfaces":{"subinterface":[{"index":0,"openconfig-if-ip:ipv4":{"addresses":{"address":[{"ip":%q,"state":{"ip":%q,"prefix-length":30}}]}}}]}}`,
			name, i+2, address, address))
	}
	return `{"openconfig-interfaces:interface":[` + strings.Join(out, ",") + `]}`
}
