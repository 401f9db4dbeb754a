package main

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/secretfile"
	"github.com/millrace/millrace/internal/state"
)

// files are those that the section names.
func (c *etcdConfig) files() []*string {
	return []*string{&c.CA, &c.Cert, &c.Key, &c.CRL, &c.PasswordFile}
}

// check refuses half a configuration, and endpoints at which a host on the way could write or read the password.
func (c etcdConfig) check() error {
	if err := wholeTLS(c.CA, c.Cert, c.Key, c.CRL, c.ServerName); err != nil {
		return err
	}
	if (c.Username == "") != (c.PasswordFile == "") {
		return errors.New("username and password_file: set both or neither")
	}
	return state.CheckEndpoints(c.Endpoints, state.Terms{TLS: c.CA != "", Plaintext: c.AllowPlaintext, User: c.Username != ""})
}

// wholeTLS refuses half a configuration of TLS towards servers: a CA, and perhaps a certificate with its key.
func wholeTLS(ca, cert, key, crl, serverName string) error {
	switch {
	case (cert == "") != (key == ""):
		return errors.New("cert and key: set both or neither")
	case ca == "" && (cert != "" || crl != "" || serverName != ""):
		return errors.New("ca is missing: without it there is no TLS, and cert, key, crl and server_name are not used")
	}
	return nil
}

// credentialsOf are those of TLS towards servers, which demand a certificate or do not.
func credentialsOf(files mtls.Files, deps mtls.Dependencies) (*mtls.Credentials, error) {
	if files.Cert == "" {
		return mtls.NewAnonymous(files.CA, files.CRL, deps)
	}
	return mtls.New(files, deps)
}

// dial connects to the cluster. The credentials, whose files are read again when they change, are nil without TLS.
func (c etcdConfig) dial(deps mtls.Dependencies) (*state.Store, *mtls.Credentials, error) {
	var options []state.DialOption
	var credentials *mtls.Credentials
	if c.CA != "" {
		var err error
		deps.Use = "etcd"
		if credentials, err = credentialsOf(mtls.Files{CA: c.CA, Cert: c.Cert, Key: c.Key, CRL: c.CRL}, deps); err != nil {
			return nil, nil, fmt.Errorf("etcd: %w", err)
		}
		options = append(options, state.WithTLS(checkedBy(credentials.Client(), c.ServerName)))
	}
	if c.AllowPlaintext {
		options = append(options, state.Plaintext)
	}
	if c.Username != "" {
		if _, err := secretfile.Read(c.PasswordFile); err != nil {
			return nil, nil, fmt.Errorf("etcd.password_file: %w", err)
		}
		options = append(options, state.As(c.Username, func() (string, error) { return secretfile.Read(c.PasswordFile) }))
	}
	store, err := state.Dial(c.Endpoints, options...)
	return store, credentials, err
}

// checkedBy has servers checked by a name, where there is one, instead of that of their host.
func checkedBy(c *tls.Config, name string) *tls.Config {
	c.ServerName = name
	return c
}
