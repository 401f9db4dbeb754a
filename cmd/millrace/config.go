package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/services/alpha"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/vpn"
)

// config is the one file of the control plane. Each section is named after the
// folder that reads it; an unknown key is an error.
type config struct {
	// DataDir holds the embedded etcd and the embedded ClickHouse engine. Default /var/lib/millrace.
	DataDir string `yaml:"data_dir"`
	// Inventory is the file that lists routers. Relative to this file.
	Inventory string `yaml:"inventory"`
	// Etcd names a cluster; without endpoints an etcd runs inside this process.
	Etcd etcdConfig `yaml:"etcd"`
	// Kafka names a cluster; without brokers the bus runs inside this process.
	Kafka kafkaConfig `yaml:"kafka"`
	// Endpoints are the base URLs of services that run in processes of their own, by name (`millrace serve NAME`).
	Endpoints map[string]string `yaml:"endpoints"`

	Flow      flow.Configuration      `yaml:"flow"`
	Telemetry telemetry.Configuration `yaml:"telemetry"`
	Topology  topology.Configuration  `yaml:"topology"`
	Flowstore flowstore.Configuration `yaml:"flowstore"`
	Alpha     alpha.Configuration     `yaml:"alpha"`
	Paths     paths.Configuration     `yaml:"paths"`
	Policy    policy.Configuration    `yaml:"policy"`
	Push      push.Configuration      `yaml:"push"`
	VPN       vpn.Configuration       `yaml:"vpn"`
	Dashboard dashboard.Configuration `yaml:"dashboard"`
}

type etcdConfig struct {
	// Endpoints are client URLs of an etcd cluster, such as http://127.0.0.1:2379. Default none: an etcd inside this process.
	Endpoints []string `yaml:"endpoints"`
}

type kafkaConfig struct {
	// Brokers are host:port of some brokers, on the loopback for now. Default none: a bus inside this process.
	Brokers []string `yaml:"brokers"`
}

func defaultConfig(dataDir string) config {
	return config{
		DataDir:   dataDir,
		Inventory: "inventory.yaml",
		Flow:      flow.DefaultConfiguration(),
		Telemetry: telemetry.DefaultConfiguration(),
		Topology:  topology.DefaultConfiguration(),
		Flowstore: flowstore.DefaultConfiguration(filepath.Join(dataDir, "clickhouse")),
		Alpha:     alpha.DefaultConfiguration(),
		Paths:     paths.DefaultConfiguration(),
		Policy:    policy.DefaultConfiguration(),
		Push:      push.DefaultConfiguration(),
		VPN:       vpn.DefaultConfiguration(),
		Dashboard: dashboard.DefaultConfiguration(),
	}
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
	if err := yaml.Unmarshal(raw, &first); err != nil {
		return nil, fmt.Errorf("configuration %s: %s", path, yaml.FormatError(err, false, true))
	}
	cfg := defaultConfig(first.DataDir)
	if err := yaml.UnmarshalWithOptions(raw, &cfg, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("configuration %s: %s", path, yaml.FormatError(err, false, true))
	}
	if !filepath.IsAbs(cfg.Inventory) {
		cfg.Inventory = filepath.Join(filepath.Dir(path), cfg.Inventory)
	}
	if cfg.VPN.Dir != "" && !filepath.IsAbs(cfg.VPN.Dir) {
		cfg.VPN.Dir = filepath.Join(filepath.Dir(path), cfg.VPN.Dir)
	}
	return &cfg, nil
}
