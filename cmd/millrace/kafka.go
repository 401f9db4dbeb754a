package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/secretfile"
)

// files are those that the section names.
func (c *kafkaConfig) files() []*string {
	return []*string{&c.TLS.CA, &c.TLS.Cert, &c.TLS.Key, &c.TLS.CRL, &c.SASL.PasswordFile}
}

// check refuses half a configuration, and what a bus would refuse. It is of use without brokers where topics of other
// collectors have some.
func (c kafkaConfig) check(topics []flow.TopicConfiguration) error {
	if err := wholeTLS(c.TLS.CA, c.TLS.Cert, c.TLS.Key, c.TLS.CRL, c.TLS.ServerName); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	if c.SASL != (kafkaSASL{}) && (c.SASL.Mechanism == "" || c.SASL.Username == "" || c.SASL.PasswordFile == "") {
		return errors.New("sasl: mechanism, username and password_file: set all or none")
	}
	clusters := [][]string{c.Brokers}
	for _, t := range topics {
		if len(c.Brokers)+len(t.Brokers) == 0 {
			return fmt.Errorf("brokers is missing, and topic %s of section flow has none", t.Topic)
		}
		clusters = append(clusters, t.Brokers)
	}
	clusters = slices.DeleteFunc(clusters, func(brokers []string) bool { return len(brokers) == 0 })
	if len(clusters) == 0 && (c.TLS != (kafkaTLS{}) || c.SASL != (kafkaSASL{}) || c.Prefix != "") {
		return errors.New("brokers is missing: the bus is inside this process, and prefix, tls and sasl are not used")
	}
	b := c.bus()
	if c.TLS.CA != "" {
		b.TLS = func(string) *tls.Config { return nil } // the files are read when the bus is opened
	}
	for _, b.Brokers = range clusters {
		if err := b.Check(); err != nil {
			return err
		}
	}
	return nil
}

// bus is the configuration without certificates.
func (c kafkaConfig) bus() bus.KafkaConfiguration {
	k := bus.DefaultKafkaConfiguration()
	k.Brokers, k.Prefix, k.Plaintext = c.Brokers, c.Prefix, c.AllowPlaintext
	if c.SASL.Mechanism != "" {
		k.SASL = &bus.SASL{Mechanism: c.SASL.Mechanism, User: c.SASL.Username, Password: func() (string, error) { return secretfile.Read(c.SASL.PasswordFile) }}
	}
	return k
}

// cluster reads the files. The credentials, which are read again when they change, are nil without TLS.
func (c kafkaConfig) cluster(deps mtls.Dependencies) (bus.KafkaConfiguration, *mtls.Credentials, error) {
	k := c.bus()
	var credentials *mtls.Credentials
	if c.TLS.CA != "" {
		var err error
		deps.Use = "kafka"
		if credentials, err = credentialsOf(mtls.Files{CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key, CRL: c.TLS.CRL}, deps); err != nil {
			return k, nil, fmt.Errorf("kafka.tls: %w", err)
		}
		k.TLS = func(address string) *tls.Config {
			return mtls.To(credentials.Client(), cmp.Or(c.TLS.ServerName, address))
		}
	}
	if k.SASL != nil {
		if _, err := k.SASL.Password(); err != nil {
			return k, nil, fmt.Errorf("kafka.sasl.password_file: %w", err)
		}
	}
	return k, credentials, nil
}
