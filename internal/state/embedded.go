package state

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/millrace/millrace/internal/filelock"
)

// Embedded is an etcd server inside this process (`millrace up`), a cluster of
// one without peers. The store talks to it in memory; etcdctl and other
// processes of the same user do so through a socket in the data directory,
// because a port would let every user of the host write.
type Embedded struct {
	dir     string
	noFsync bool
	quota   int64
	lock    *filelock.Lock
	// socketDir is set where the socket could not be in dir.
	socketDir string
	etcd      *embed.Etcd
	store     *Store
	// failed gets the error of an etcd that ended by itself; stopping is closed by Stop.
	failed   chan error
	stopping chan struct{}
	// logLevel is error, and above all levels while etcd stops.
	logLevel zap.AtomicLevel
}

// Option changes how Embedded runs.
type Option func(*Embedded)

// UnsafeNoFsync does not wait for the disk, for tests: a power cut loses writes.
func UnsafeNoFsync(e *Embedded) { e.noFsync = true }

// Quota is the size in octets at which it takes no more writes; 0 is etcd's own, 2 GiB.
func Quota(octets int64) Option { return func(e *Embedded) { e.quota = octets } }

// NewEmbedded is inert; dir holds the write-ahead log and is created.
func NewEmbedded(dir string, options ...Option) *Embedded {
	e := &Embedded{dir: filepath.Clean(dir), logLevel: zap.NewAtomicLevelAt(zapcore.ErrorLevel)}
	for _, o := range options {
		o(e)
	}
	return e
}

const (
	startTimeout = 30 * time.Second
	// The election time-out is short because there is only one member; the tick is the interval at which an
	// idle server wakes up.
	tick       = 50 * time.Millisecond
	election   = 5 * tick
	socketName = "etcd.sock"
	// maxSocketPath is what fits into the kernel's sun_path.
	maxSocketPath = 107
)

// Start serves until Stop. The data directory is locked against a second process.
func (e *Embedded) Start(ctx context.Context) (err error) {
	if err := e.acquire(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Stop(ctx))
		}
	}()
	cfg, err := e.config()
	if err != nil {
		return err
	}
	e.etcd, err = embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start embedded etcd in %s: %w", e.dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-e.etcd.Server.ReadyNotify():
	case err := <-e.etcd.Err():
		return fmt.Errorf("embedded etcd: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("embedded etcd did not become ready: %w", ctx.Err())
	}
	e.store = newStore(v3client.New(e.etcd.Server))
	e.store.defragment = e.Defragment
	e.failed, e.stopping = make(chan error, 1), make(chan struct{})
	go watchEnd(e.etcd, e.failed, e.stopping)
	return nil
}

// watchEnd reports an etcd that ends before it is stopped.
func watchEnd(etcd *embed.Etcd, failed chan<- error, stopping <-chan struct{}) {
	var err error
	select {
	case <-stopping:
	case err = <-etcd.Err():
	case <-etcd.Server.StopNotify():
		err = errors.New("its server stopped; the reason is in its log")
	}
	select {
	case <-stopping: // which ends both, too
	default:
		failed <- fmt.Errorf("embedded etcd ended by itself: %w", err)
	}
}

// Failed gets the error of an etcd that ended by itself; nil before Start.
func (e *Embedded) Failed() <-chan error { return e.failed }

// acquire locks the directory before etcd opens it: etcd itself would wait for
// the other process without end.
func (e *Embedded) acquire() error {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return fmt.Errorf("create state directory: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(e.dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return fmt.Errorf("state directory %s: %w: stop the other millrace or give this one its own directory", e.dir, err)
	}
	e.lock = lock
	return err
}

// Store is valid after Start.
func (e *Embedded) Store() *Store { return e.store }

// Defragment gives free pages back to the disk. No request is answered meanwhile.
func (e *Embedded) Defragment() error { return e.etcd.Server.Defragment() }

// Endpoint is the client URL, for etcdctl and for other processes; valid after Start.
func (e *Embedded) Endpoint() string { return e.etcd.Config().ListenClientUrls[0].String() }

// Stop flushes and closes; without Start it does nothing.
func (e *Embedded) Stop(context.Context) error {
	if e.stopping != nil {
		close(e.stopping)
		e.stopping = nil
	}
	if e.store != nil {
		_ = e.store.client.Close() // always returns that its context ended
		e.store = nil
	}
	if e.etcd != nil {
		e.logLevel.SetLevel(zapcore.FatalLevel)
		e.etcd.Close()
		e.etcd = nil
	}
	if e.socketDir != "" {
		_ = os.RemoveAll(e.socketDir) // empty by now
		e.socketDir = ""
	}
	if e.lock == nil {
		return nil
	}
	err := e.lock.Close() // which unlocks
	e.lock = nil
	return err
}

func (e *Embedded) config() (*embed.Config, error) {
	socket, err := e.socket()
	if err != nil {
		return nil, err
	}
	client := url.URL{Scheme: "unix", Path: socket}
	cfg := embed.NewConfig()
	cfg.Dir = e.dir
	cfg.Name = "millrace"
	e.logLevel.SetLevel(zapcore.ErrorLevel)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(etcdLogger(e.logLevel))
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	// Nobody listens for peers; the address only names the member in its log.
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.AutoCompactionMode = embed.CompactorModePeriodic
	cfg.AutoCompactionRetention = "1h"
	cfg.TickMs, cfg.ElectionMs = uint(tick.Milliseconds()), uint(election.Milliseconds())
	cfg.UnsafeNoFsync, cfg.QuotaBackendBytes = e.noFsync, e.quota
	return cfg, nil
}

// socket is in the data directory, or where that is too deep for the kernel in
// a temporary one that is as private.
func (e *Embedded) socket() (string, error) {
	dir, err := filepath.Abs(e.dir)
	if err != nil {
		return "", fmt.Errorf("find state directory: %w", err)
	}
	if path := filepath.Join(dir, socketName); len(path) <= maxSocketPath {
		return path, nil
	}
	if e.socketDir, err = os.MkdirTemp("", "millrace-etcd-"); err != nil {
		return "", fmt.Errorf("make a folder for etcd's socket: %w", err)
	}
	return filepath.Join(e.socketDir, socketName), nil
}
