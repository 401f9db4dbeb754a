package examine

import (
	"context"
	"errors"
	"strings"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
)

// Tables asks a ClickHouse server. The embedded engine is asked of the running control plane, whose data one
// process at a time may open; here it is only looked for.
func Tables(ctx context.Context, tables store.Configuration) doctor.Finding {
	if len(tables.Servers) == 0 {
		path, err := store.FindLibrary()
		if err == nil {
			return doctor.Finding{Area: "stores", Subject: "ClickHouse engine", Level: doctor.OK, What: "is " + path}
		}
		return doctor.Answered("stores", "ClickHouse engine", err, "Install the package millrace-engine, or name a server in flowstore.store.servers.", "")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db, err := store.Open(ctx, tables)
	if err == nil {
		err = db.Close()
	}
	return doctor.Answered("stores", "ClickHouse "+tables.Servers[0], err, "Start the server, or correct flowstore.store.", "MillraceInsertErrors")
}

// Etcd asks a cluster, by a connection that the caller knows how to make.
func Etcd(ctx context.Context, endpoints []string, dial func() (*state.Store, error)) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := dial()
	if err == nil {
		err = errors.Join(s.Ready(ctx), s.Close())
	}
	return doctor.Answered("stores", "etcd "+strings.Join(endpoints, ","), err, "Start etcd, or correct etcd.endpoints, its certificates, or its user and password.", "MillraceDependencyNotReady")
}

// Broker logs in to one broker of Kafka, by a connection that the caller knows how to make.
func Broker(ctx context.Context, address string, open func() (*bus.Kafka, error)) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := open()
	if err == nil {
		err = errors.Join(b.Ready(ctx), b.Close())
	}
	return doctor.Answered("stores", "Kafka "+address, err, "Start the broker, or correct kafka.brokers, kafka.tls or kafka.sasl.", "MillraceDependencyNotReady")
}
