package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/internal/logging"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/trace"
)

// config is the one file of the control plane. Beside these keys it has one
// section for each service, named after the folder that reads it; an unknown
// key is an error.
type config struct {
	// DataDir holds the embedded etcd and the embedded ClickHouse engine. Default /var/lib/millrace.
	DataDir string `yaml:"data_dir"`
	// Inventory is the file that lists routers and exporters (docs/reference/inventory.md), relative to this file.
	// Default inventory.yaml.
	Inventory string `yaml:"inventory"`
	// Installation is the name of this control plane, the same for all its processes. The first to use an etcd cluster
	// records it there, with kafka.prefix and flowstore.store.database; a process with others is refused. Default
	// millrace.
	Installation string `yaml:"installation"`
	// Etcd names a cluster; without endpoints an etcd runs inside this process.
	Etcd etcdConfig `yaml:"etcd"`
	// Kafka names a cluster; without brokers the bus runs inside this process.
	Kafka kafkaConfig `yaml:"kafka"`
	// Log is what the process writes to its standard error.
	Log logging.Configuration `yaml:"log"`
	// Tracing says where spans are sent; see docs/reference/tracing.md.
	Tracing trace.Configuration `yaml:"tracing"`
	// Endpoints are the base URLs of services that run in processes of their own, by name (`millrace serve NAME`): one
	// URL, or a list of one for each replica. Calls go to the first of a list that answers.
	Endpoints map[string]addresses `yaml:"endpoints"`
	// TLS secures what services say to each other, and the dashboard's port.
	TLS tlsConfig `yaml:"tls"`

	// document is the whole file: these keys, then a field for each row of services.
	document reflect.Value
}

type etcdConfig struct {
	// Endpoints are client URLs of an etcd cluster, such as
	// https://192.0.2.1:2379. Default none: an etcd inside this process.
	Endpoints []string `yaml:"endpoints"`
	// CA signed the certificates of the cluster's members, for endpoints that begin with https; Cert and Key are
	// this process's own, where the cluster demands one. PEM files, relative to this file.
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CRL is a file with lists of revoked certificates; empty: none is revoked.
	CRL string `yaml:"crl"`
	// ServerName must be in the members' certificates. Default: the host of each endpoint.
	ServerName string `yaml:"server_name"`
	// Username is the one to log in as, where the cluster has authentication enabled. Default: nobody, or the common
	// name of the certificate, which etcd takes for a user.
	Username string `yaml:"username"`
	// PasswordFile has its password, relative to this file. It is read at each log-in.
	PasswordFile string `yaml:"password_file"`
	// AllowPlaintext allows endpoints on other hosts that begin with http. A host on the way can then approve and
	// change everything. Default false.
	AllowPlaintext bool `yaml:"allow_plaintext"`
	// Quota is the size in octets at which the etcd inside this process takes no more writes. Default 2 GiB; etcd
	// advises not to go over 8.
	Quota int64 `yaml:"quota"`
}

type kafkaConfig struct {
	// Brokers are host:port of some brokers. Default none: a bus inside this process.
	Brokers []string `yaml:"brokers"`
	// Prefix begins the names of all topics and groups, so that several installations share a cluster, and one rule
	// of the cluster's is enough for one of them. Default none.
	Prefix string `yaml:"prefix"`
	// TLS secures the connections, also those on this host.
	TLS kafkaTLS `yaml:"tls"`
	// SASL logs in.
	SASL kafkaSASL `yaml:"sasl"`
	// AllowPlaintext allows brokers on other hosts without TLS. A host on the way can then read and write every
	// message. Default false.
	AllowPlaintext bool `yaml:"allow_plaintext"`
}

type kafkaTLS struct {
	// CA signed the brokers' certificates; the host's own, such as /etc/ssl/certs/ca-certificates.crt, for brokers
	// with a public one. PEM, relative to this file. Default none: no TLS.
	CA string `yaml:"ca"`
	// Cert and Key are this process's own, where the brokers demand one. PEM files, relative to this file.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CRL is a file with lists of revoked certificates; empty: none is revoked.
	CRL string `yaml:"crl"`
	// ServerName must be in the brokers' certificates. Default: the host of each broker.
	ServerName string `yaml:"server_name"`
}

type kafkaSASL struct {
	// Mechanism is SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN; PLAIN to other hosts over TLS only. Default none: no log-in.
	Mechanism string `yaml:"mechanism"`
	Username  string `yaml:"username"`
	// PasswordFile has the password, relative to this file. It is read at each log-in.
	PasswordFile string `yaml:"password_file"`
}

// commonField holds config's own keys in the document.
const commonField = "Common"

// defaultConfig is the configuration without a file. The type of the file is made of the table of services,
// so that a row there is enough for a service to have its section.
func defaultConfig(dataDir string) *config {
	common := config{DataDir: dataDir, Inventory: "inventory.yaml", Installation: "millrace", Log: logging.DefaultConfiguration(), Tracing: trace.DefaultConfiguration(), Etcd: etcdConfig{Quota: 2 << 30}, TLS: tlsConfig{CRLOverdue: mtls.UseOverdue, Domain: "millrace"}}
	fields := []reflect.StructField{{Name: commonField, Type: reflect.TypeFor[config](), Tag: `yaml:",inline"`}}
	values := []reflect.Value{reflect.ValueOf(common)}
	for _, s := range services() {
		settings := reflect.ValueOf(s.settings(dataDir))
		fields = append(fields, reflect.StructField{
			Name: fieldOf(s.name), Type: settings.Type(), Tag: reflect.StructTag(fmt.Sprintf(`yaml:"%s"`, s.name)),
		})
		values = append(values, settings)
	}
	document := reflect.New(reflect.StructOf(fields))
	for i, v := range values {
		document.Elem().Field(i).Set(v)
	}
	return configOf(document)
}

func fieldOf(service string) string { return strings.ToUpper(service[:1]) + service[1:] }

// configOf is the config of a filled document.
func configOf(document reflect.Value) *config {
	c := document.Elem().FieldByName(commonField).Interface().(config)
	c.document = document
	return &c
}

// settings are a service's section.
func (c *config) settings(service string) any {
	return c.document.Elem().FieldByName(fieldOf(service)).Interface()
}

const defaultDataDir = "/var/lib/millrace"

// loadConfig reads a file over the defaults. Defaults may depend on the data
// folder, so that is read first.
func loadConfig(path string) (*config, error) {
	if path == "" {
		return nil, errors.New("no configuration: give --config FILE (start from `millrace up --dump`)")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	first := struct {
		DataDir string `yaml:"data_dir"`
	}{defaultDataDir}
	if err := over(&first, raw); err != nil {
		return nil, fmt.Errorf("configuration %s: %s", path, yaml.FormatError(err, false, true))
	}
	document := defaultConfig(first.DataDir).document
	if err := over(document.Interface(), raw, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("configuration %s: %s", path, yaml.FormatError(err, false, true))
	}
	for _, s := range services() {
		section := document.Elem().FieldByName(fieldOf(s.name)).Addr().Interface()
		if r, ok := section.(interface{ RelativeTo(folder string) }); ok {
			r.RelativeTo(filepath.Dir(path))
		}
		if v, ok := section.(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				return nil, fmt.Errorf("configuration %s: %s: %w", path, s.name, err)
			}
		}
	}
	cfg := configOf(document)
	if err := knownEndpoints(cfg.Endpoints); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	cfg.TLS.relativeTo(filepath.Dir(path))
	if err := cfg.TLS.check(cfg.Endpoints); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	for _, file := range append(cfg.Etcd.files(), cfg.Kafka.files()...) {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	if err := cfg.Log.Validate(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	if err := cfg.Tracing.Validate(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	if err := cfg.Etcd.check(); err != nil {
		return nil, fmt.Errorf("configuration %s: etcd: %w", path, err)
	}
	if err := cfg.Kafka.check(cfg.settings("flow").(flow.Configuration).Topics); err != nil {
		return nil, fmt.Errorf("configuration %s: kafka: %w", path, err)
	}
	if !filepath.IsAbs(cfg.Inventory) {
		cfg.Inventory = filepath.Join(filepath.Dir(path), cfg.Inventory)
	}
	return cfg, nil
}

// over decodes a file over defaults. One that says nothing leaves them: the decoder would take it for null, and make
// all of them zero.
func over(defaults any, raw []byte, options ...yaml.DecodeOption) error {
	var says any
	if err := yaml.Unmarshal(raw, &says); err != nil || says == nil {
		return err
	}
	return yaml.UnmarshalWithOptions(raw, defaults, options...)
}
