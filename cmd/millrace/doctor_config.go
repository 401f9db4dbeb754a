package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/doctor/examine"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// examineConfig looks at what a control plane of a file needs from this host.
func examineConfig(ctx context.Context, file string) (found []doctor.Finding) {
	cfg, err := loadConfig(file)
	if err != nil {
		return []doctor.Finding{{Area: "configuration", Subject: file, Level: doctor.Wrong, What: err.Error(), Do: "`millrace up --dump` has every key with its default."}}
	}
	found = append(found, doctor.Finding{Area: "configuration", Subject: file, Level: doctor.OK, What: "is complete, and every setting is known"})
	found = append(found, examine.Disk(cfg.DataDir))
	found = append(found, examine.Tables(ctx, cfg.settings("flowstore").(flowstore.Configuration).Store)...)
	found = append(found, examine.Certificate(cfg.Etcd.Cert, cfg.Etcd.Key, "")...)
	found = append(found, examine.Certificate(cfg.Kafka.TLS.Cert, cfg.Kafka.TLS.Key, "")...)
	if cfg.TLS.on() && !strings.Contains(cfg.TLS.Cert, serviceMark) {
		found = append(found, examine.Certificate(cfg.TLS.Cert, cfg.TLS.Key, cfg.TLS.CA)...)
	}
	quiet := mtls.Dependencies{Log: slog.New(slog.DiscardHandler)}
	if len(cfg.Etcd.Endpoints) > 0 {
		found = append(found, examine.Etcd(ctx, cfg.Etcd.Endpoints, func() (*state.Store, error) {
			s, _, err := cfg.Etcd.dial(quiet)
			return s, err
		}))
	}
	brokers := slices.Clone(cfg.Kafka.Brokers)
	for _, t := range cfg.settings("flow").(flow.Configuration).Topics {
		brokers = append(brokers, t.Brokers...)
	}
	slices.Sort(brokers)
	for _, broker := range slices.Compact(brokers) {
		found = append(found, examine.Broker(ctx, broker, func() (*bus.Kafka, error) {
			one := cfg.Kafka
			one.Brokers = []string{broker}
			cluster, _, err := one.cluster(quiet)
			if err != nil {
				return nil, err
			}
			return bus.NewKafka(cluster)
		}))
	}
	return append(found, examine.Inventory(ctx, cfg.Inventory)...)
}

// examineAgent looks at the kernel and the files of a router agent.
func examineAgent(file string) []doctor.Finding {
	cfg, err := routeragent.Load(file)
	if err != nil {
		return []doctor.Finding{{Area: "configuration", Subject: file, Level: doctor.Wrong, What: err.Error(), Do: "docs/reference/routeragent.md has the keys."}}
	}
	found := append([]doctor.Finding{{Area: "configuration", Subject: file, Level: doctor.OK, What: "is complete, and every setting is known"}},
		examine.Certificate(cfg.TLS.Cert, cfg.TLS.Key, "")...)
	features, err := kernel.Probe()
	if err != nil {
		return append(found, doctor.Finding{Area: "kernel", Subject: "features", Level: doctor.Warning, What: fmt.Sprintf("cannot be tried: %v", err), Do: "Run this as root, or with the unit's capabilities."})
	}
	return append(found, doctor.Features(features.Missing())...)
}
