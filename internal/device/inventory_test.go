package device

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/testkit/pki"
)

const good = `tls:
  ca: pki/ca.pem
  cert: /etc/millrace/controller.pem
  key: pki/controller.key
devices:
  - name: WR
    address: 10.0.0.1:9339
    loopback: 10.255.0.1
    exporters: [10.0.0.1, "::ffff:10.0.1.1", 2001:db8::1]
  - name: ER
    address: "[2001:db8::2]:9339"
    loopback: 10.255.0.2
    os: junos
    username: millrace
    password_file: er.password
`

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	path := write(t, good)
	inv, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := &Inventory{
		TLS: TLS{
			CA: filepath.Join(filepath.Dir(path), "pki/ca.pem"), Cert: "/etc/millrace/controller.pem",
			Key: filepath.Join(filepath.Dir(path), "pki/controller.key"),
		},
		Devices: []Device{
			{
				OS: OSMillrace, Name: "WR", Address: "10.0.0.1:9339", Loopback: netip.MustParseAddr("10.255.0.1"),
				Exporters: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("2001:db8::1")},
			},
			{
				OS: OSJunos, Name: "ER", Address: "[2001:db8::2]:9339", Loopback: netip.MustParseAddr("10.255.0.2"),
				Username: "millrace", PasswordFile: filepath.Join(filepath.Dir(path), "er.password"),
			},
		},
	}
	if d := cmp.Diff(inv, want, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Errorf("inventory (-got +want):\n%s", d)
	}
}

func TestLookups(t *testing.T) {
	inv, err := Load(write(t, good))
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := inv.ByName("ER"); !ok || d.Address != "[2001:db8::2]:9339" {
		t.Errorf("ByName(ER): got %v, %t", d, ok)
	}
	if d, ok := inv.ByName("er"); ok {
		t.Errorf("ByName(er): got %v, want none", d)
	}
	for addr, want := range map[string]string{
		"10.0.0.1": "WR", "::ffff:10.0.0.1": "WR", "10.0.1.1": "WR", "2001:db8::1": "WR", "10.0.0.2": "",
	} {
		if d, ok := inv.ByExporter(netip.MustParseAddr(addr)); d.Name != want || ok != (want != "") {
			t.Errorf("ByExporter(%s): got %q, %t, want %q", addr, d.Name, ok, want)
		}
	}
}

func TestMistakesAreNamedWithFileAndLine(t *testing.T) {
	const wr = "devices:\n  - name: WR\n    address: 10.0.0.1:9339\n    loopback: 10.255.0.1\n    exporters: [10.0.0.1]\n"
	for _, c := range []struct {
		name, content string
		line          int
		want          string
	}{
		{"a misspelt key", "devices:\n  - name: WR\n    adress: 10.0.0.1:9339\n", 3, "unknown field \"adress\""},
		{"a key at the wrong place", "name: WR\n", 1, "unknown field \"name\""},
		{"not YAML", "devices:\n  - name: WR\n   address: x\n", 3, ""},
		{"an address that is none", wr + "  - name: ER\n    address: 10.0.0.2:9339\n    loopback: 10.255.0\n", 8, `"10.255.0" is not an IP address`},
		{"an exporter that is none", wr + "  - name: ER\n    address: 10.0.0.2:9339\n    exporters:\n      - 10.0.0.2\n      - er.example.net\n", 10, `"er.example.net" is not an IP address`},
		{"a list where a name belongs", "devices:\n  - name: [WR]\n", 2, ""},
		{"no name", wr + "  - address: 10.0.0.2:9339\n", 6, "device 2 has no name"},
		{"a name twice", wr + "  - name: ER\n    address: a:1\n  - name: WR\n    address: b:1\n", 8, "device WR is listed twice"},
		{"no address", wr + "  - name: ER\n", 6, "device ER has no address; give host:port"},
		{"an address without port", wr + "  - name: ER\n    address: 10.0.0.2\n", 7, "is not host:port"},
		{"an address with a port that is none", wr + "  - name: ER\n    address: 10.0.0.2:gnmi\n", 7, "is not host:port"},
		{"a PE agent without a port", wr + "  - name: ER\n    address: a:1\n    pe: 10.0.0.2\n", 8, "is not host:port of its PE agent"},
		{"a PE agent of two devices", wr + "    pe: b:1\n  - name: ER\n    address: a:1\n    pe: b:1\n", 9, "device ER has the PE agent b:1 of device WR"},
		{"an operating system nobody drives", wr + "  - name: ER\n    address: a:1\n    os: ios\n", 8, `os "ios" of device ER is none of millrace, junos`},
		{"a user without a password", wr + "  - name: ER\n    address: a:1\n    username: x\n", 6, "needs both username and password_file"},
		{"a loopback twice", wr + "  - name: ER\n    address: a:1\n    loopback: 10.255.0.1\n", 8, "device ER has the loopback 10.255.0.1 of device WR"},
		{"an exporter of two devices", wr + "  - name: ER\n    address: a:1\n    exporters:\n      - 10.0.0.2\n      - ::ffff:10.0.0.1\n", 10, "exporter 10.0.0.1 of device ER is listed for device WR already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.content)
			_, err := Load(path)
			if want := fmt.Sprintf("inventory %s:%d: ", path, c.line); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s...%s", err, want, c.want)
			}
		})
	}
}

func TestAnEmptyInventoryHasNoDevices(t *testing.T) {
	inv, err := Load(write(t, "# none yet\n"))
	if err != nil || len(inv.Devices) != 0 {
		t.Errorf("got %v, %v", inv, err)
	}
}

func TestAMissingFileIsNamed(t *testing.T) {
	if _, err := Load("nowhere/inventory.yaml"); err == nil || !strings.Contains(err.Error(), "nowhere/inventory.yaml") {
		t.Errorf("got %v, want the file's name", err)
	}
}

// TestClientTLS makes a handshake with a router that requires the controller's certificate, and with one
// that another CA signed.
func TestClientTLS(t *testing.T) {
	ours, theirs := pki.New(t), pki.New(t)
	cert, key := ours.Issue(t, "controller")
	inv := &Inventory{TLS: TLS{CA: ours.CA, Cert: cert, Key: key}}
	client, err := inv.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	client.ServerName = "router"
	if err := handshake(client, router(t, ours, ours)); err != nil {
		t.Errorf("our router: %v", err)
	}
	if err := handshake(client, router(t, theirs, ours)); err == nil {
		t.Error("a router that another CA signed was believed")
	}
	if err := handshake(client, router(t, ours, theirs)); err == nil {
		t.Error("a router that trusts another CA believed us")
	}
}

// router is a TLS server with a certificate of one CA that requires clients of another.
func router(t *testing.T, signer, trusted *pki.Authority) *tls.Config {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(signer.Issue(t, "router", "router"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted.Pool()}
}

// handshake returns the server's or the client's complaint.
func handshake(client, server *tls.Config) error {
	a, b := net.Pipe()
	defer a.Close()
	served := make(chan error, 1)
	go func() {
		defer b.Close()
		served <- tls.Server(b, server).Handshake()
	}()
	conn := tls.Client(a, client)
	if err := conn.Handshake(); err != nil {
		a.Close()
		<-served
		return err
	}
	go func() { _, _ = conn.Read(make([]byte, 1)) }() // takes the server's verdict off the pipe
	return <-served
}

func TestClientTLSErrorsNameTheFile(t *testing.T) {
	a := pki.New(t)
	cert, key := a.Issue(t, "controller")
	_, otherKey := a.Issue(t, "other")
	for _, c := range []struct {
		name string
		tls  TLS
		want string
	}{
		{"nothing configured", TLS{}, "must name ca, cert and key"},
		{"no key configured", TLS{CA: a.CA, Cert: cert}, "must name ca, cert and key"},
		{"a CA that is missing", TLS{CA: "nowhere.pem", Cert: cert, Key: key}, "nowhere.pem"},
		{"a CA that is a key", TLS{CA: key, Cert: cert, Key: key}, "controller.key holds no PEM certificate"},
		{"a certificate that is missing", TLS{CA: a.CA, Cert: "nowhere.pem", Key: key}, "nowhere.pem"},
		{"a key of another certificate", TLS{CA: a.CA, Cert: cert, Key: otherKey}, "client certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv := &Inventory{TLS: c.tls}
			if _, err := inv.ClientTLS(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
