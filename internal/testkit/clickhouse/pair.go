package clickhouse

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/jars"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// Lib names the folder of ZooKeeper's jars, by default .cache/zookeeper of this repository.
const Lib = "MILLRACE_ZOOKEEPER_LIB"

// Cluster is what the pair calls itself.
const Cluster = "pair"

// queue is where ZooKeeper has the statements ON CLUSTER.
const queue = "/clickhouse/task_queue/ddl"

// Pair is two servers that are replicas of one shard.
type Pair struct {
	Servers   [2]*Server
	ZooKeeper *ZooKeeper
}

// ZooKeeper is where replicas agree on what was written.
type ZooKeeper struct{ process }

// StartPair runs both and a ZooKeeper. Macros are shard and replica.
func StartPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{Servers: [2]*Server{newServer(t), newServer(t)}, ZooKeeper: startZooKeeper(t)}
	var replicas strings.Builder
	for _, s := range p.Servers {
		fmt.Fprintf(&replicas, "<replica><host>127.0.0.1</host><port>%d</port><user>millrace</user><password>secret</password></replica>", s.port)
	}
	for i, s := range p.Servers {
		s.relay = newRelay(t, p.ZooKeeper.addr)
		host, port, _ := strings.Cut(s.relay.addr, ":")
		s.configure(t, fmt.Sprintf(`<interserver_http_host>127.0.0.1</interserver_http_host><interserver_http_port>%d</interserver_http_port>
			<zookeeper><node><host>%s</host><port>%s</port></node><session_timeout_ms>10000</session_timeout_ms></zookeeper>
			<macros><shard>1</shard><replica>server%d</replica></macros>
			<remote_servers><%s><shard><internal_replication>true</internal_replication>%s</shard></%[5]s></remote_servers>
			<distributed_ddl><path>%[7]s</path></distributed_ddl>`,
			ports.Reserve(t), host, port, i+1, Cluster, &replicas, queue))
		s.Again(t)
		await.True(t, s.Addr+" takes statements for the cluster", s.relay.worker.Load)
	}
	return p
}

// Addresses of both.
func (p *Pair) Addresses() []string { return []string{p.Servers[0].Addr, p.Servers[1].Addr} }

func startZooKeeper(t testing.TB) *ZooKeeper {
	t.Helper()
	dir, addr := t.TempDir(), ports.Loopback(t)
	host, port, _ := strings.Cut(addr, ":")
	properties := filepath.Join(dir, "zoo.cfg")
	write(t, properties, fmt.Sprintf("tickTime=1000\ndataDir=%s/data\nclientPort=%s\nclientPortAddress=%s\nadmin.enableServer=false\n", dir, port, host))
	z := &ZooKeeper{process{
		args: []string{
			"java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", jars.Classpath(t, Lib, "zookeeper", "zookeeper-*.jar"), "org.apache.zookeeper.server.ZooKeeperServerMain", properties,
		},
		log: filepath.Join(dir, "log"), addr: addr, ready: serves,
	}}
	z.Again(t)
	return z
}

// answersWithin is how long a question may take: one that ZooKeeper accepts while it starts may get no answer.
const answersWithin = 2 * time.Second

// serves asks with the one short command that is allowed by default. ZooKeeper listens before it serves.
func serves(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(answersWithin)) // fails where it is closed, as the next does
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return false
	}
	answer, err := io.ReadAll(conn)
	return err == nil && strings.Contains(string(answer), "Mode: standalone")
}
