// Package kafka runs a real Kafka broker for tests: one node that is broker and
// controller (KRaft), on loopback ports, with its data in the test's folder.
//
// In: the jars that tools/setup/jars.sh fetched.
// Out: the address of a broker that lives as long as the test, and can go away and come back.
// Next: internal/bus and tests against it.
package kafka

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/child"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/jars"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/standstill"
)

// Lib names the folder of jars, by default .cache/kafka of this repository.
const Lib = "MILLRACE_KAFKA_LIB"

const stopTimeout = 15 * time.Second

// jvm keeps the broker small; the fast compiler halves its start, which a test feels more than throughput.
var jvm = []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}

// Broker is a running broker.
type Broker struct {
	// Addr is its host:port without TLS.
	Addr string
	// TLSAddr is its host:port with mutual TLS, and PKI the CA it trusts and is signed by.
	TLSAddr string
	PKI     *pki.Authority
	// UsersAddr is its host:port with TLS and log-in of users; empty without Users.
	UsersAddr string

	controller          string
	classes, properties string
	// in is a command that runs what follows on the broker's host; empty for this one.
	in []string
	// ready asks the broker, which listens without TLS where it is nil.
	ready   *tls.Config
	process *exec.Cmd
	exited  <-chan struct{}
	log     string
}

// Start starts a broker and stops it when the test ends. Without jars or Java the test is skipped.
func Start(t testing.TB, options ...func(testing.TB, *Broker)) *Broker {
	t.Helper()
	b := &Broker{Addr: ports.Loopback(t), TLSAddr: ports.Loopback(t), controller: ports.Loopback(t)}
	for _, o := range options {
		o(t, b)
	}
	return start(t, b)
}

// StartOn is Start on fixed ports of a host that only this test uses, so that they stay free while the
// broker is away.
func StartOn(t testing.TB, host string) *Broker {
	t.Helper()
	return start(t, &Broker{Addr: net.JoinHostPort(host, "9092"), TLSAddr: net.JoinHostPort(host, "9093"), controller: net.JoinHostPort(host, "9094")})
}

func start(t testing.TB, b *Broker) *Broker {
	t.Helper()
	b.classes = jars.Classpath(t, Lib, "kafka", "kafka_*.jar")
	dir := t.TempDir()
	b.PKI, b.log = pki.New(t), filepath.Join(dir, "broker.log")
	b.properties = b.configure(t, dir)
	b.format(t, newCluster(), "--standalone")
	t.Cleanup(b.Stop)
	b.Again(t)
	return b
}

// Again starts the broker with the data it had.
func (b *Broker) Again(t testing.TB) {
	t.Helper()
	b.launch(t)
	b.waitReady(t)
}

func (b *Broker) launch(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(b.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b.process = b.java(context.Background(), "kafka.Kafka", b.properties)
	b.process.Stdout, b.process.Stderr = log, log
	if b.exited, err = child.Start(b.process); err != nil {
		t.Fatalf("start Kafka: %v", err)
	}
}

// Empty has a broker that is stopped come back without its disk: no topic, no message, no offset, another cluster.
func (b *Broker) Empty(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(filepath.Dir(b.properties), "data")); err != nil {
		t.Fatal(err)
	}
	b.format(t, newCluster(), "--standalone")
}

// Stand has the broker stand still, as a machine that is starved of its processor, until Move.
func (b *Broker) Stand(t testing.TB) {
	t.Helper()
	if err := standstill.Stop(b.process.Process.Pid); err != nil {
		t.Fatal(err)
	}
}

// Move ends Stand.
func (b *Broker) Move(t testing.TB) {
	t.Helper()
	if err := standstill.Continue(b.process.Process.Pid); err != nil {
		t.Fatal(err)
	}
}

// Kill gives the broker no chance to finish anything.
func (b *Broker) Kill() {
	_ = b.process.Process.Kill() // gone already is fine
	<-b.exited
}

// Stop ends the broker; stopping twice is allowed.
func (b *Broker) Stop() {
	if b.process == nil {
		return
	}
	_ = b.process.Process.Signal(syscall.SIGTERM) // gone already is fine
	select {
	case <-b.exited:
	case <-time.After(stopTimeout):
		_ = b.process.Process.Kill()
		<-b.exited
	}
}

// waitReady requests metadata until the broker returns it.
func (b *Broker) waitReady(t testing.TB) {
	t.Helper()
	options := []kgo.Opt{kgo.SeedBrokers(b.Addr)}
	if b.ready != nil {
		options = []kgo.Opt{kgo.SeedBrokers(b.TLSAddr), kgo.DialTLSConfig(b.ready)}
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	deadline := time.After(await.Patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := client.Ping(ctx)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-b.exited:
			t.Fatalf("Kafka ended before it was ready:\n%s", b.tail())
		case <-deadline:
			t.Fatalf("Kafka not ready after %s (%v):\n%s", await.Patience, err, b.tail())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (b *Broker) tail() []byte {
	log, _ := os.ReadFile(b.log) // for a failure message: as much as there is
	return log[max(0, len(log)-4000):]
}

// newCluster is the id of a cluster.
func newCluster() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[0] &= 0x7f           // a leading - would be taken for an option
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// format writes the cluster's id into the data folder, and with --standalone the one voter.
func (b *Broker) format(t testing.TB, cluster string, more ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	args := append([]string{"format", "-t", cluster, "-c", b.properties}, more...)
	if out, err := b.java(ctx, "kafka.tools.StorageTool", args...).CombinedOutput(); err != nil {
		t.Fatalf("format Kafka's storage: %v\n%s", err, out)
	}
}

// java runs a class.
func (b *Broker) java(ctx context.Context, class string, args ...string) *exec.Cmd {
	command := slices.Concat(b.in, []string{"java"}, jvm, []string{"-cp", b.classes, class}, args)
	return exec.CommandContext(ctx, command[0], command[1:]...)
}
