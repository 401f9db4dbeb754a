// Package kafka runs a real Kafka broker for tests: one node that is broker and
// controller (KRaft), on loopback ports, with its data in the test's folder.
//
// In: the jars that tools/kafka/fetch.sh fetched.
// Out: the address of a broker that lives as long as the test, and can go away and come back.
// Next: internal/bus and tests against it.
package kafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/checkout"
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
	process             *exec.Cmd
	exited              chan struct{}
	log                 string
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
	b.classes = classpath(t)
	dir := t.TempDir()
	b.PKI, b.log = pki.New(t), filepath.Join(dir, "broker.log")
	b.properties = b.configure(t, dir)
	format(t, b.classes, b.properties)
	t.Cleanup(b.Stop)
	b.Again(t)
	return b
}

// Again starts the broker with the data it had.
func (b *Broker) Again(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(b.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	process, exited := java(context.Background(), b.classes, "kafka.Kafka", b.properties), make(chan struct{})
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		t.Fatalf("start Kafka: %v", err)
	}
	b.process, b.exited = process, exited
	go func() {
		defer close(exited)
		_ = process.Wait() // its log has more than its status
	}()
	b.waitReady(t)
}

// Empty has a broker that is stopped come back without its disk: no topic, no message, no offset, another cluster.
func (b *Broker) Empty(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(filepath.Dir(b.properties), "data")); err != nil {
		t.Fatal(err)
	}
	format(t, b.classes, b.properties)
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
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr))
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

// classpath skips the test where the broker was not fetched.
func classpath(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("java is missing: run 'make setup', or install openjdk-17-jre-headless")
	}
	lib := os.Getenv(Lib)
	if lib == "" {
		lib = filepath.Join(checkout.Root(t), ".cache", "kafka")
	}
	if jars, _ := filepath.Glob(filepath.Join(lib, "kafka_*.jar")); len(jars) == 0 {
		t.Skipf("Kafka's jars are missing in %s: run 'make .cache/stamps/kafka' ('make test' does)", lib)
	}
	return filepath.Join(lib, "*")
}

// format writes the cluster id and the one voter into the data folder.
func format(t testing.TB, classes, properties string) {
	t.Helper()
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[0] &= 0x7f           // a leading - would be taken for an option
	cluster := base64.RawURLEncoding.EncodeToString(id[:])
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	out, err := java(ctx, classes, "kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c", properties).CombinedOutput()
	if err != nil {
		t.Fatalf("format Kafka's storage: %v\n%s", err, out)
	}
}

// java runs a class; the kernel kills it with this process, so that a test
// that is killed leaves nothing behind.
func java(ctx context.Context, classes, class string, args ...string) *exec.Cmd {
	args = append(append(append([]string{}, jvm...), "-cp", classes, class), args...)
	cmd := exec.CommandContext(ctx, "java", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// properties: one node without replication, and no waiting for more members
// before the first of a group starts.
var properties = template.Must(template.New("server.properties").Parse(strings.TrimSpace(`
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{{.Addr}},SSL://{{.TLSAddr}},CONTROLLER://{{.Controller}}{{with .Users}},USERS://{{.}}{{end}}
advertised.listeners=PLAINTEXT://{{.Addr}},SSL://{{.TLSAddr}}{{with .Users}},USERS://{{.}}{{end}}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={{.Controller}}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT{{with .Users}},USERS:SASL_SSL{{end}}
ssl.keystore.type=PEM
ssl.keystore.location={{.Dir}}/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location={{.CA}}
ssl.client.auth=required
log.dirs={{.Dir}}/data
auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
controlled.shutdown.enable=false
num.network.threads=1
num.io.threads=2
`) + "\n" + users))

// configure writes server.properties and the key the broker shows.
func (b *Broker) configure(t testing.TB, dir string) (path string) {
	t.Helper()
	var keystore []byte
	host, _, _ := net.SplitHostPort(b.Addr) // made here
	cert, key := b.PKI.Issue(t, "broker", host)
	for _, file := range []string{key, cert} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keystore = append(keystore, content...)
	}
	write(t, filepath.Join(dir, "keystore.pem"), keystore)

	var text bytes.Buffer
	err := properties.Execute(&text, map[string]string{
		"Addr": b.Addr, "TLSAddr": b.TLSAddr, "Controller": b.controller, "Dir": dir, "CA": b.PKI.CA, "Users": b.UsersAddr, "PlainPassword": PlainPassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "server.properties")
	write(t, path, text.Bytes())
	return path
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
