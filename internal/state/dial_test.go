package state_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
)

func TestCheckEndpoints(t *testing.T) {
	for _, tt := range []struct {
		endpoint       string
		tls, plaintext bool
		user           bool
		says           string
	}{
		{"http://127.0.0.1:2379", false, false, false, ""},
		{"http://localhost:2379", false, false, false, ""},
		{"http://[::1]:2379", false, false, false, ""},
		{"unix:///var/lib/millrace/etcd.sock", false, false, false, ""},
		{"http://192.0.2.1:2379", false, false, false, "not on this host"},
		{"http://192.0.2.1:2379", true, false, false, "not on this host"},
		{"http://127.0.0.1.example.net:2379", false, false, false, "not on this host"},
		{"http://192.0.2.1:2379", false, true, false, ""},
		{"https://192.0.2.1:2379", false, false, false, "name ca, and cert and key"},
		{"https://192.0.2.1:2379", false, true, false, "name ca, and cert and key"},
		{"https://192.0.2.1:2379", true, false, false, ""},
		{"192.0.2.1:2379", true, true, false, "no URL"},
		{"http://root:secret@127.0.0.1:2379", false, false, false, "etcd.password_file"},
		{"root:secret@127.0.0.1:2379", true, true, true, "etcd.password_file"},
		{"http://127.0.0.1:2379", false, false, true, ""},
		{"http://192.0.2.1:2379", false, true, true, "the password would be sent"},
		{"https://192.0.2.1:2379", true, false, true, ""},
	} {
		err := state.CheckEndpoints([]string{"http://127.0.0.1:2379", tt.endpoint}, state.Terms{TLS: tt.tls, Plaintext: tt.plaintext, User: tt.user})
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v", tt, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: the password is shown: %v", tt, err)
		}
	}
}

// A cluster that requires certificates accepts a client with one of its CA. It refuses a client of another
// CA, and the store refuses a member that another CA signed. The store would retry both until it is
// stopped, so the test looks at the handshake.
func TestEtcdOverTLS(t *testing.T) {
	ca, other := pki.New(t), pki.New(t)
	cert, key := ca.Issue(t, "etcd", program.OwnHost())
	server := etcd.Start(t, program.OwnHost(), etcd.TLS(ca.CA, cert, key))
	credentials := func(theirs string, signer *pki.Authority) *tls.Config {
		cert, key := signer.Issue(t, "millrace")
		c, err := mtls.New(mtls.Files{CA: theirs, Cert: cert, Key: key}, mtls.Dependencies{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Client()
	}
	s, err := state.Dial([]string{server.URL}, state.WithTLS(credentials(ca.CA, ca)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(t.Context(), "key", 0, value("over TLS")); err != nil {
		t.Error(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	address := strings.TrimPrefix(server.URL, "https://")
	for name, c := range map[string]*tls.Config{"a client of another CA": credentials(ca.CA, other), "a member of another CA": credentials(other.CA, ca)} {
		conn, err := tls.Dial("tcp", address, mtls.To(c, address))
		if err == nil { // the server sends its alert with the first octets
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if _, err := state.Dial([]string{server.URL}); err == nil {
		t.Error("https without certificates was taken")
	}
}
