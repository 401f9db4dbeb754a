package kafka

import (
	"crypto/tls"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// PlainPassword is that of the user plain, by the mechanism PLAIN; other users log in by SCRAM.
const PlainPassword = "plain-password-of-the-tests"

// Users has the broker listen for users, who may do what Grant allows them. Who needs no log-in may do everything.
func Users(t testing.TB, b *Broker) {
	t.Helper()
	b.UsersAddr = ports.Loopback(t)
}

// users is the part of server.properties for Users. Who logs in by SCRAM-SHA-512 has to again every two seconds. A
// client of the listener without users, and one with a certificate, is the super user ANONYMOUS.
const users = `{{with .Users}}
listener.name.users.ssl.client.auth=none
listener.name.users.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.users.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_plain="{{$.PlainPassword}}";
listener.name.users.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.users.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.users.scram-sha-512.connections.max.reauth.ms=2000
ssl.principal.mapping.rules=RULE:^.*$/ANONYMOUS/
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
{{end}}`

// Admin administers the broker.
func (b *Broker) Admin(t testing.TB) *kadm.Client {
	t.Helper()
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(b.Addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	return admin
}

// SetPassword makes a user that logs in by either SCRAM mechanism, or gives it another password. Then the broker knows.
func (b *Broker) SetPassword(t testing.TB, user, password string) {
	t.Helper()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // a request takes a user once
		one := kadm.UpsertSCRAM{User: user, Mechanism: mechanism, Iterations: 4096, Password: password}
		done, err := b.Admin(t).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{one})
		if err == nil {
			err = done.Error()
		}
		if err != nil {
			t.Fatalf("set the password of %s: %v", user, err)
		}
	}
	auth := scram.Auth{User: user, Pass: password}
	for _, mechanism := range []sasl.Mechanism{auth.AsSha256Mechanism(), auth.AsSha512Mechanism()} {
		client, err := kgo.NewClient(kgo.SeedBrokers(b.UsersAddr), kgo.SASL(mechanism), kgo.DialTLSConfig(&tls.Config{RootCAs: b.PKI.Pool(), MinVersion: tls.VersionTLS12}))
		if err != nil {
			t.Fatal(err)
		}
		await.True(t, "the broker knows the password of "+user, func() bool { return client.Ping(t.Context()) == nil })
		client.Close()
	}
}

// Grant lets a user do something with the topics, and read as the groups, that begin so.
func (b *Broker) Grant(t testing.TB, user, topics string, groups []string, does ...kadm.ACLOperation) {
	t.Helper()
	rules := []*kadm.ACLBuilder{kadm.NewACLs().Topics(topics).Operations(does...)}
	if len(groups) > 0 {
		rules = append(rules, kadm.NewACLs().Groups(groups...).Operations(kadm.OpRead))
	}
	for _, rule := range rules {
		admin := b.Admin(t)
		made, err := admin.CreateACLs(t.Context(), rule.Allow("User:"+user).AllowHosts().ResourcePatternType(kadm.ACLPatternPrefixed))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range made {
			if one.Err != nil {
				t.Fatalf("grant %s something: %v", user, one.Err)
			}
		}
		await.True(t, "the broker knows what "+user+" may do", func() bool {
			known, err := admin.DescribeACLs(t.Context(), rule)
			return err == nil && !slices.ContainsFunc(known, func(r kadm.DescribeACLsResult) bool { return r.Err != nil || len(r.Described) == 0 })
		})
	}
}
