package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func TestHalfAConfigurationOfServersIsRefused(t *testing.T) {
	const broker, far, sasl = "brokers: ['127.0.0.1:9092']", "brokers: ['192.0.2.1:9093']", "sasl: {mechanism: SCRAM-SHA-512, username: u, password_file: f}"
	for text, says := range map[string]string{
		"kafka: {" + broker + "}":                                                                              "",
		"kafka: {" + far + "}":                                                                                 "configure TLS",
		"kafka: {" + far + ", tls: {ca: ca.pem}}":                                                              "",
		"kafka: {" + far + ", allow_plaintext: true, " + sasl + "}":                                            "",
		"kafka: {" + far + ", tls: {ca: ca.pem, cert: c.pem}}":                                                 "kafka: tls: cert and key: set both or neither",
		"kafka: {" + far + ", tls: {cert: c.pem, key: k.pem}}":                                                 "kafka: tls: ca is missing",
		"kafka: {" + broker + ", tls: {server_name: kafka}}":                                                   "kafka: tls: ca is missing",
		"kafka: {" + broker + ", sasl: {mechanism: PLAIN, username: u}}":                                       "set all or none",
		"kafka: {" + broker + ", sasl: {mechanism: GSSAPI, username: u, password_file: f}}":                    `SASL mechanism "GSSAPI"`,
		"kafka: {" + far + ", allow_plaintext: true, sasl: {mechanism: PLAIN, username: u, password_file: f}}": "PLAIN sends it the password as it is",
		"kafka: {" + broker + ", sasl: {mechanism: PLAIN, username: u, password: secret}}":                     "unknown field \"password\"",
		"kafka: {" + sasl + "}":                                                                                "brokers is missing",
		"kafka: {prefix: te1.}":                                                                                "brokers is missing",
		"kafka: {prefix: a/b, " + broker + "}":                                                                 "Kafka prefix",
		"flow: {topics: [{topic: flows, schema: goflow2, " + broker + "}]}":                                    "",
		"flow: {topics: [{topic: flows, schema: goflow2}]}\nkafka: {" + broker + "}":                           "",
		"flow: {topics: [{topic: flows, schema: goflow2}]}":                                                    "topic flows of section flow has none",
		"flow: {topics: [{topic: flows, schema: goflow2, " + far + "}]}":                                       "configure TLS",
		"flow: {topics: [{topic: flows, schema: goflow2, " + far + "}]}\nkafka: {tls: {ca: ca.pem}}":           "",
		"flow: {topics: [{topic: flows, schema: netflow, " + broker + "}]}":                                    "want one of [akvorado goflow2]",
		"flow: {topics: [{topic: flows, schema: akvorado, fields: {Colour: 3}, " + broker + "}]}":              "field Colour with number 3",
		"etcd: {endpoints: ['https://192.0.2.1:2379'], ca: ca.pem, username: u, password_file: f}":             "",
		"etcd: {endpoints: ['https://192.0.2.1:2379'], ca: ca.pem, server_name: etcd}":                         "",
		"etcd: {endpoints: ['https://192.0.2.1:2379'], ca: ca.pem, cert: c.pem}":                               "etcd: cert and key: set both or neither",
		"etcd: {endpoints: ['https://192.0.2.1:2379'], cert: c.pem, key: k.pem}":                               "etcd: ca is missing",
		"etcd: {endpoints: ['http://127.0.0.1:2379'], username: u}":                                            "username and password_file: set both or neither",
		"etcd: {endpoints: ['http://192.0.2.1:2379'], allow_plaintext: true, username: u, password_file: f}":   "the password would be sent",
		"etcd: {endpoints: ['http://127.0.0.1:2379'], username: u, password_file: f}":                          "",
	} {
		file := filepath.Join(t.TempDir(), "millrace.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(file); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}

// Files that are missing end a start with their names, and not a check of the configuration on another host.
func TestMissingFilesOfServers(t *testing.T) {
	const kafkaOf, etcdOf = "kafka: {brokers: ['127.0.0.1:1'], %s}\n", "etcd: {endpoints: ['%s://127.0.0.1:1'], %s}\n"
	for text, says := range map[string]string{
		fmt.Sprintf(kafkaOf, "tls: {ca: gone.pem}"):                                           "kafka.tls: read open ",
		fmt.Sprintf(kafkaOf, "sasl: {mechanism: PLAIN, username: u, password_file: gone.pw}"): "kafka.sasl.password_file: read the secret: open ",
		fmt.Sprintf(etcdOf, "https", "ca: gone.pem"):                                          "etcd: read open ",
		fmt.Sprintf(etcdOf, "http", "username: u, password_file: gone.pw"):                    "etcd.password_file: read the secret: open ",
	} {
		if p, err := newMachine(t, text).start(); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "gone.p") {
			t.Errorf("%s: got %v and %v, want %q", text, p, err, says)
		}
	}
}

// TestServersThatDemandUsers: a Kafka and an etcd that are somebody else's, with the rights of
// docs/how-to/use-your-own-kafka-and-etcd.md. What connects to them logs in; a password that is wrong is reported, and
// corrected under the process that runs.
func TestServersThatDemandUsers(t *testing.T) {
	broker := kafka.Start(t, kafka.Users)
	broker.SetPassword(t, "millrace", "kafka-secret")
	broker.Grant(t, "millrace", "te1.", []string{"te1."}, kadm.OpRead, kadm.OpWrite, kadm.OpDescribe, kadm.OpCreate, kadm.OpDescribeConfigs)
	ca := pki.New(t)
	cert, key := ca.Issue(t, "etcd", program.OwnHost())
	keys := etcd.Start(t, program.OwnHost(), etcd.Tokens(300), etcd.ServerTLS(cert, key))
	keys.Users(t, "millrace", "etcd-secret", "/millrace/")

	m := newMachine(t, fmt.Sprintf(`
kafka: {brokers: [%q], prefix: te1., tls: {ca: %q}, sasl: {mechanism: SCRAM-SHA-512, username: millrace, password_file: kafka.pw}}
etcd: {endpoints: [%q], ca: %q, username: millrace, password_file: etcd.pw}
`, broker.UsersAddr, broker.PKI.CA, keys.URL, ca.CA))
	set := func(of, password string) { m.write(filepath.Join(filepath.Dir(m.file), of+".pw"), password+"\n") }
	// Each look waits 10 s for a server and no longer, so one of them need not see all.
	doctor := func(want ...string) {
		t.Helper()
		for _, w := range want {
			await.True(t, "doctor says "+w, func() bool {
				out, _ := m.run(t.Context(), "doctor", "--offline")
				if strings.Contains(out, "-secret") {
					t.Errorf("a password is in\n%s", out)
				}
				return strings.Contains(out, w)
			})
		}
	}
	set("kafka", "kafka-secret")
	set("etcd", "etcd-secret")
	doctor("ok       stores etcd "+keys.URL, "ok       stores Kafka "+broker.UsersAddr)
	m.hosted(func(p *process) {
		await.True(t, "the process is ready", func() bool { return p.ready(t.Context()) == nil })
		broker.SetPassword(t, "millrace", "another-secret")
		keys.SetPassword(t, "millrace", "another-secret")
		keys.EndTokens(t)
		// Each is asked in its time, so one answer need not name both.
		for _, says := range []string{"Kafka broker " + broker.UsersAddr + " refuses user millrace by SCRAM-SHA-512", "log in to etcd as millrace"} {
			await.True(t, "not ready: "+says, func() bool {
				err := fmt.Sprint(p.ready(t.Context()))
				if strings.Contains(err, "-secret") {
					t.Errorf("a password is in %s", err)
				}
				return strings.Contains(err, says)
			})
		}
		doctor("wrong    stores etcd", "log in to etcd as millrace", "wrong    stores Kafka", "refuses user millrace")
		set("kafka", "another-secret")
		set("etcd", "another-secret")
		await.True(t, "the process is ready again", func() bool { return p.ready(t.Context()) == nil })
		if err := p.bus.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{Text: "text"}); err != nil {
			t.Error(err)
		}
	})
	opened, err := openEtcd(t.Context(), m.cfg, true) // as millrace backup does
	if err != nil {
		t.Fatal(err)
	}
	defer opened.close(t.Context())
	if err := opened.store.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
