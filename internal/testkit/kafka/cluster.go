package kafka

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/millrace/millrace/internal/testkit/jars"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// Host is where a node of a cluster runs: its address, and a command that runs what follows there.
type Host struct {
	Address string
	Run     []string
}

// node: every topic is on three nodes, and what two of them have is written. Clients and nodes show certificates.
var node = template.Must(template.New("node.properties").Parse(strings.TrimSpace(`
process.roles=broker,controller
node.id={{.ID}}
listeners=SSL://{{.Host}}:9093,CONTROLLER://{{.Host}}:9094
advertised.listeners=SSL://{{.Host}}:9093
inter.broker.listener.name=SSL
controller.listener.names=CONTROLLER
controller.quorum.voters={{.Voters}}
listener.security.protocol.map=SSL:SSL,CONTROLLER:SSL
ssl.keystore.type=PEM
ssl.keystore.location={{.Dir}}/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location={{.CA}}
ssl.client.auth=required
log.dirs={{.Dir}}/data
auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=3
group.initial.rebalance.delay.ms=0
controlled.shutdown.enable=false
num.network.threads=1
num.io.threads=2
`) + "\n"))

// StartCluster starts a node on each of three hosts, whose ports 9093 and 9094 are its own, and waits until all answer.
func StartCluster(t testing.TB, ca *pki.Authority, hosts []Host) (nodes []*Broker) {
	t.Helper()
	cert, key := ca.Issue(t, "kafka-client")
	client, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ready := &tls.Config{Certificates: []tls.Certificate{client}, RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}
	var voters []string
	for i, h := range hosts {
		voters = append(voters, fmt.Sprintf("%d@%s:9094", i+1, h.Address))
	}
	cluster, dir := newCluster(), t.TempDir()
	for i, h := range hosts {
		b := &Broker{TLSAddr: net.JoinHostPort(h.Address, "9093"), PKI: ca, classes: jars.Classpath(t, Lib, "kafka", "kafka_*.jar"), in: h.Run, ready: ready}
		b.log = filepath.Join(dir, fmt.Sprint(i+1), "broker.log")
		b.nodeOf(t, i+1, h.Address, strings.Join(voters, ","))
		nodes = append(nodes, b)
		t.Cleanup(b.Stop)
		b.format(t, cluster)
	}
	for _, b := range nodes {
		b.launch(t)
	}
	for _, b := range nodes {
		b.waitReady(t)
	}
	return nodes
}

// nodeOf writes a node's files.
func (b *Broker) nodeOf(t testing.TB, id int, host, voters string) {
	t.Helper()
	dir := filepath.Dir(b.log)
	mkdir(t, dir)
	b.keystore(t, dir, fmt.Sprint("kafka-", id), host)
	b.properties = fill(t, node, dir, map[string]any{"ID": id, "Host": host, "Voters": voters, "Dir": dir, "CA": b.PKI.CA})
}
