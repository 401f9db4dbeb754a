package main

import (
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/state"
)

// secured reports whether the connection to the cluster uses mutual TLS.
func (c etcdConfig) secured() bool { return c.CA != "" && c.Cert != "" && c.Key != "" }

// dial connects to the cluster. The credentials, whose files are read again when they change, are nil without TLS.
func (c etcdConfig) dial(deps mtls.Dependencies) (*state.Store, *mtls.Credentials, error) {
	var options []state.DialOption
	var credentials *mtls.Credentials
	if c.secured() {
		var err error
		deps.Use = "etcd"
		if credentials, err = mtls.New(mtls.Files{CA: c.CA, Cert: c.Cert, Key: c.Key, CRL: c.CRL}, deps); err != nil {
			return nil, nil, err
		}
		options = append(options, state.WithTLS(credentials.Client()))
	}
	if c.AllowPlaintext {
		options = append(options, state.Plaintext)
	}
	store, err := state.Dial(c.Endpoints, options...)
	return store, credentials, err
}
