package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"testing"
)

// TestTheGate is the table of who may do what: every proof, role and need.
func TestTheGate(t *testing.T) {
	granted := map[Role]map[Need]bool{Viewer: {Read: true}, Operator: {Read: true, Write: true}}
	for _, role := range []Role{"", "root", Viewer, Operator} {
		for _, need := range []Need{Unknown, Read, Write, Write + 1} {
			if got := Decide(false, role, need); got != Unauthenticated {
				t.Errorf("without a proof, role %q, need %d: %q", role, need, got)
			}
			want := Granted
			switch {
			case granted[role] == nil:
				want = NoRole
			case need != Read && need != Write:
				want = NoSuchCall
			case !granted[role][need]:
				want = TooLow
			}
			if got := Decide(true, role, need); got != want {
				t.Errorf("role %q, need %d: %q, want %q", role, need, got, want)
			}
		}
	}
}

func TestRolesOfCertificates(t *testing.T) {
	r := Roles{
		Names: map[string]Role{"controller": Operator, "noc": Viewer, "push.millrace": Operator, "spiffe://x/telemetry": Viewer, "*.millrace": Viewer},
		Units: map[string]Role{"te": Operator, "desk": Viewer},
	}
	uri := func(s string) []*url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return []*url.URL{u}
	}
	name := func(cn string, units ...string) pkix.Name {
		return pkix.Name{CommonName: cn, OrganizationalUnit: units}
	}
	for what, c := range map[string]struct {
		cert x509.Certificate
		want Role
	}{
		"a common name":                         {x509.Certificate{Subject: name("controller")}, Operator},
		"a common name before names and units":  {x509.Certificate{Subject: name("noc", "te"), DNSNames: []string{"push.millrace"}}, Viewer},
		"a DNS name, as millrace ca issues":     {x509.Certificate{DNSNames: []string{"push.millrace"}}, Operator},
		"a DNS name before a unit":              {x509.Certificate{Subject: name("x", "desk"), DNSNames: []string{"push.millrace"}}, Operator},
		"a URI":                                 {x509.Certificate{URIs: uri("spiffe://x/telemetry")}, Viewer},
		"a URI and a DNS name: the lowest":      {x509.Certificate{URIs: uri("spiffe://x/telemetry"), DNSNames: []string{"push.millrace"}}, Viewer},
		"a unit":                                {x509.Certificate{Subject: name("x", "te")}, Operator},
		"two units: the lowest":                 {x509.Certificate{Subject: name("x", "te", "desk")}, Viewer},
		"a name that a wildcard in roles spans": {x509.Certificate{DNSNames: []string{"alpha.millrace"}}, ""},
		"a wildcard in the certificate":         {x509.Certificate{DNSNames: []string{"*.te"}}, ""},
		"a unit that is a name":                 {x509.Certificate{Subject: name("te", "controller")}, ""},
		"nothing that is named":                 {x509.Certificate{Subject: name("x", "y"), DNSNames: []string{"z"}}, ""},
		"nothing at all":                        {x509.Certificate{}, ""},
	} {
		if got := r.Of(&c.cert); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	if err := (Roles{Units: map[string]Role{"x": "root"}}).Check(); err == nil {
		t.Error("a role that there is not is taken")
	}
	if err := r.Check(); err != nil || r.Empty() || !(Roles{}).Empty() {
		t.Errorf("%v, %v", err, r.Empty())
	}
}
