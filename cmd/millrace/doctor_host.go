package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// read is the whole answer to a request.
func read(client *http.Client, r *http.Request) (io.Reader, http.Header, error) {
	answer, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, largestPage))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.URL.Path, answer.Status)
	}
	return bytes.NewReader(body), answer.Header, err
}

// examineHost looks at what every program of Millrace stands on.
func examineHost() (found []doctor.Finding) {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		found = append(found, doctor.Kernel(unix.ByteSliceToString(name.Release[:])))
	}
	var clock unix.Timex
	if _, err := unix.Adjtimex(&clock); err == nil {
		unit := time.Microsecond
		if clock.Status&unix.STA_NANO != 0 {
			unit = time.Nanosecond
		}
		found = append(found, doctor.Clock(clock.Status&unix.STA_UNSYNC == 0, time.Duration(clock.Offset)*unit))
	}
	return found
}

// examineConfig looks at what a control plane of a file needs from this host.
func examineConfig(ctx context.Context, file string) (found []doctor.Finding) {
	cfg, err := loadConfig(file)
	if err != nil {
		return []doctor.Finding{{Area: "configuration", Subject: file, Level: doctor.Wrong, What: err.Error(), Do: "`millrace up --dump` has every key with its default."}}
	}
	found = append(found, doctor.Finding{Area: "configuration", Subject: file, Level: doctor.OK, What: "is complete, and every setting is known"})
	found = append(found, examineDisk(cfg.DataDir), examineTables(ctx, cfg))
	found = append(found, examineCertificate(cfg.Etcd.Cert, cfg.Etcd.Key, "")...)
	found = append(found, examineCertificate(cfg.Kafka.TLS.Cert, cfg.Kafka.TLS.Key, "")...)
	if cfg.TLS.on() && !strings.Contains(cfg.TLS.Cert, serviceMark) {
		found = append(found, examineCertificate(cfg.TLS.Cert, cfg.TLS.Key, cfg.TLS.CA)...)
	}
	if len(cfg.Etcd.Endpoints) > 0 {
		found = append(found, examineEtcd(ctx, cfg))
	}
	for _, broker := range cfg.Kafka.Brokers {
		found = append(found, examineBroker(ctx, cfg.Kafka, broker))
	}
	return append(found, examineInventory(ctx, cfg.Inventory)...)
}

func examineDisk(folder string) doctor.Finding {
	var s unix.Statfs_t
	err := unix.Statfs(folder, &s)
	for up := folder; errors.Is(err, unix.ENOENT) && up != filepath.Dir(up); { // before the first start
		up = filepath.Dir(up)
		err = unix.Statfs(up, &s)
	}
	if err != nil {
		return doctor.Unreadable("disk", folder, err)
	}
	return doctor.Space(folder, s.Bavail*uint64(s.Bsize), s.Blocks*uint64(s.Bsize))
}

// examineTables asks a ClickHouse server. The embedded engine is asked of the running control plane, whose data one
// process at a time may open; here it is only looked for.
func examineTables(ctx context.Context, cfg *config) doctor.Finding {
	tables := cfg.settings("flowstore").(flowstore.Configuration).Store
	if len(tables.Servers) == 0 {
		path, err := store.FindLibrary()
		if err == nil {
			return doctor.Finding{Area: "stores", Subject: "ClickHouse engine", Level: doctor.OK, What: "is " + path}
		}
		return doctor.Answered("stores", "ClickHouse engine", err, "Install the package millrace-engine, or name a server in flowstore.store.servers.", "")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	db, err := store.Open(ctx, tables)
	if err == nil {
		err = db.Close()
	}
	return doctor.Answered("stores", "ClickHouse "+tables.Servers[0], err, "Start the server, or correct flowstore.store.", "MillraceInsertErrors")
}

func examineEtcd(ctx context.Context, cfg *config) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, _, err := cfg.Etcd.dial(mtls.Dependencies{Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = errors.Join(s.Ready(ctx), s.Close())
	}
	return doctor.Answered("stores", "etcd "+strings.Join(cfg.Etcd.Endpoints, ","), err, "Start etcd, or correct etcd.endpoints, its certificates, or its user and password.", "MillraceDependencyNotReady")
}

// examineBroker logs in to one broker.
func examineBroker(ctx context.Context, cfg kafkaConfig, broker string) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cfg.Brokers = []string{broker}
	b, _, err := cfg.open(mtls.Dependencies{Log: slog.New(slog.DiscardHandler)}, nil)
	if err == nil {
		err = errors.Join(b.Ready(ctx), b.Close())
	}
	return doctor.Answered("stores", "Kafka "+broker, err, "Start the broker, or correct kafka.brokers, kafka.tls or kafka.sasl.", "MillraceDependencyNotReady")
}

// examineCertificate looks at a certificate of ours and its key, if the configuration names them.
func examineCertificate(cert, key, ca string) []doctor.Finding {
	if cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return []doctor.Finding{doctor.Unreadable("certificates", cert, err)}
	}
	var pool *x509.CertPool
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return []doctor.Finding{doctor.Unreadable("certificates", ca, err)}
		}
		pool = x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
	}
	return []doctor.Finding{doctor.Certificate(cert, pair.Leaf, pool, time.Now())}
}

// together is how many routers are asked at a time.
const together = 16

// examineInventory asks every router over gNMI.
func examineInventory(ctx context.Context, file string) []doctor.Finding {
	inventory, err := device.Load(file)
	if err != nil {
		return []doctor.Finding{doctor.Unreadable("routers", file, err)}
	}
	if len(inventory.Devices) == 0 {
		return []doctor.Finding{{Area: "routers", Subject: file, Level: doctor.Warning, What: "the inventory has no router", Do: "List the routers under `devices`."}}
	}
	found := examineCertificate(inventory.TLS.Cert, inventory.TLS.Key, "")
	credentials, err := inventory.ClientTLS()
	if err != nil {
		return append(found, doctor.Unreadable("routers", file, err))
	}
	answers, free, wg := make([]doctor.Finding, len(inventory.Devices)), make(chan struct{}, together), sync.WaitGroup{}
	for i, d := range inventory.Devices {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			answers[i] = examineRouter(ctx, d, credentials)
		})
	}
	wg.Wait()
	return append(found, answers...)
}

func examineRouter(ctx context.Context, d device.Device, credentials *tls.Config) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c, err := gnmiclient.Dial(ctx, d, credentials)
	if err == nil {
		err = c.Close()
	}
	return doctor.Answered("routers", d.Name, err, "Look whether its agent runs, whether the address is right, and whether each end's CA signed the other's certificate.", "MillraceRouterUnreachable")
}

// examineAgent looks at the kernel and the files of a router agent.
func examineAgent(file string) []doctor.Finding {
	cfg, err := routeragent.Load(file)
	if err != nil {
		return []doctor.Finding{{Area: "configuration", Subject: file, Level: doctor.Wrong, What: err.Error(), Do: "docs/reference/routeragent.md has the keys."}}
	}
	found := append([]doctor.Finding{{Area: "configuration", Subject: file, Level: doctor.OK, What: "is complete, and every setting is known"}},
		examineCertificate(cfg.TLS.Cert, cfg.TLS.Key, "")...)
	features, err := kernel.Probe()
	if err != nil {
		return append(found, doctor.Finding{Area: "kernel", Subject: "features", Level: doctor.Warning, What: fmt.Sprintf("cannot be tried: %v", err), Do: "Run this as root, or with the unit's capabilities."})
	}
	return append(found, doctor.Features(features.Missing())...)
}
