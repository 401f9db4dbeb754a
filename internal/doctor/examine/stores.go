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

// Tables asks each ClickHouse server. The embedded engine is asked of the running control plane, whose data one
// process at a time may open; here it is only looked for.
func Tables(ctx context.Context, tables store.Configuration) (found []doctor.Finding) {
	if len(tables.Servers) == 0 {
		path, err := store.FindLibrary()
		if err == nil {
			return []doctor.Finding{{Area: "stores", Subject: "ClickHouse engine", Level: doctor.OK, What: "is " + path}}
		}
		return []doctor.Finding{doctor.Answered("stores", "ClickHouse engine", err, "Install the package millrace-engine, or name a server in flowstore.store.servers.", "")}
	}
	if err := tables.Validate(); err != nil {
		return []doctor.Finding{doctor.Answered("stores", "ClickHouse", err, "Correct flowstore.store.", "")}
	}
	for _, address := range tables.Servers {
		one := tables
		one.Servers = []string{address}
		found = append(found, tablesOf(ctx, one))
	}
	return found
}

// tablesOf asks one server; one of a cluster also for its replicas.
func tablesOf(ctx context.Context, one store.Configuration) doctor.Finding {
	subject, runbook := "ClickHouse "+one.Servers[0], "MillraceInsertErrors"
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db, err := store.Open(ctx, one)
	if err != nil || one.Cluster == "" {
		if err == nil {
			err = db.Close()
		}
		return doctor.Answered("stores", subject, err, "Start the server, or correct flowstore.store.", runbook)
	}
	replicas, err := store.Replicas(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return doctor.Answered("stores", subject, err, "Give the user the right to read system.replicas.", runbook)
	}
	return ofCluster(subject, one.Cluster, replicas)
}

// ofCluster judges what a server of a cluster says of its replicas.
func ofCluster(subject, cluster string, replicas []store.Replica) doctor.Finding {
	f := doctor.Finding{Area: "stores", Subject: subject, Level: doctor.OK, What: "answers, is of cluster " + cluster + ", and " + store.Describe(replicas)}
	for _, r := range replicas {
		switch {
		case r.ReadOnly:
			f.Level, f.Do, f.Runbook = doctor.Wrong, "Start ZooKeeper or ClickHouse Keeper, or mend the server's way to it.", "MillraceInsertErrors"
		case r.Behind() && f.Level == doctor.OK:
			f.Level, f.Do = doctor.Warning, "Wait, and ask again. Where it stays behind: system.replication_queue of the server has the reason in last_exception."
		}
	}
	if len(replicas) == 0 {
		f.Level, f.Do = doctor.Warning, "Nothing is stored there yet. Where other servers have tables, make them here as docs/reference/clickhouse.md says."
	}
	return f
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
