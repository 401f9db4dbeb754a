// Package access decides what a client of an agent on a router may do. Who is named nowhere may do nothing.
//
// In: what a client has proven, the roles of the configuration, what the call needs.
// Out: the client's role, and a verdict with its reason.
// Next: services/routeragent and services/peagent, which answer the client, and write down and count what they refuse.
package access

import (
	"crypto/x509"
	"fmt"
)

// Role is what a client may do. The empty one may do nothing.
type Role string

// Roles a client can have. There is none above the operator: an agent has no settings that calls could change.
const (
	// Viewer reads.
	Viewer Role = "viewer"
	// Operator reads and writes; the control plane is one.
	Operator Role = "operator"
)

// Check refuses what is no role.
func (r Role) Check() error {
	if r != Viewer && r != Operator {
		return fmt.Errorf("role %q; write viewer or operator", string(r))
	}
	return nil
}

// Need is what a call needs.
type Need int

// The needs of calls.
const (
	// Unknown is of a call that there is not.
	Unknown Need = iota
	// Read shows state or configuration.
	Read
	// Write changes the router.
	Write
)

// Verdict is why a call is refused. Its values are labels of a metric.
type Verdict string

// The verdicts.
const (
	Granted Verdict = ""
	// Unauthenticated is of a client that has proven nothing, or claimed what is not so.
	Unauthenticated Verdict = "unauthenticated"
	// NoRole is of a client that is known and named nowhere.
	NoRole Verdict = "no-role"
	// TooLow is of a viewer that writes.
	TooLow Verdict = "role"
	// NoSuchCall is of a call that there is not.
	NoSuchCall Verdict = "no-such-call"
)

// Decide is the whole gate: whether a client, which has proven who it is or has not, may make a call.
func Decide(proven bool, role Role, need Need) Verdict {
	switch {
	case !proven:
		return Unauthenticated
	case role != Viewer && role != Operator:
		return NoRole
	case need != Read && need != Write:
		return NoSuchCall
	case need == Write && role != Operator:
		return TooLow
	}
	return Granted
}

// Roles are the roles of certificates.
type Roles struct {
	// Names are by common name, URI or DNS name of the certificate.
	Names map[string]Role
	// Units are by organizational unit, for certificates of which no name is in Names.
	Units map[string]Role
}

// Of is the role of a certificate: of its common name, else of its URIs and DNS names, else of its units; none if
// nothing of it is named. Where several of one kind are named, the lowest counts. A wildcard in a certificate is a name
// like any other, and matches nothing but itself.
func (r Roles) Of(cert *x509.Certificate) Role {
	other := append([]string{}, cert.DNSNames...)
	for _, u := range cert.URIs {
		other = append(other, u.String())
	}
	for _, of := range []struct {
		names []string
		roles map[string]Role
	}{{[]string{cert.Subject.CommonName}, r.Names}, {other, r.Names}, {cert.Subject.OrganizationalUnit, r.Units}} {
		if role := lowest(of.names, of.roles); role != "" {
			return role
		}
	}
	return ""
}

func lowest(names []string, roles map[string]Role) (out Role) {
	for _, name := range names {
		if role := roles[name]; role != "" && (out == "" || role == Viewer) {
			out = role
		}
	}
	return out
}

// Check refuses names with what is no role.
func (r Roles) Check() error {
	for _, roles := range []map[string]Role{r.Names, r.Units} {
		for name, role := range roles {
			if err := role.Check(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// Empty reports whether no certificate has a role.
func (r Roles) Empty() bool { return len(r.Names)+len(r.Units) == 0 }

// Name is how a certificate's owner is called in logs and limits: by the common name, or by a name that stands for it.
func Name(cert *x509.Certificate) string {
	switch {
	case cert.Subject.CommonName != "":
		return cert.Subject.CommonName
	case len(cert.URIs) > 0:
		return cert.URIs[0].String()
	case len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	}
	return "serial number " + cert.SerialNumber.String()
}
