package kafka

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
)

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
	host, _, _ := net.SplitHostPort(b.Addr) // made here
	b.keystore(t, dir, "broker", host)
	return fill(t, properties, dir, map[string]any{
		"Addr": b.Addr, "TLSAddr": b.TLSAddr, "Controller": b.controller, "Dir": dir, "CA": b.PKI.CA, "Users": b.UsersAddr, "PlainPassword": PlainPassword,
	})
}

// keystore writes the key that a broker shows, and its certificate.
func (b *Broker) keystore(t testing.TB, dir, name, host string) {
	t.Helper()
	var both []byte
	cert, key := b.PKI.Issue(t, name, host)
	for _, file := range []string{key, cert} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, content...)
	}
	write(t, filepath.Join(dir, "keystore.pem"), both)
}

// fill writes server.properties.
func fill(t testing.TB, from *template.Template, dir string, values map[string]any) (path string) {
	t.Helper()
	var text bytes.Buffer
	if err := from.Execute(&text, values); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "server.properties")
	write(t, path, text.Bytes())
	return path
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
