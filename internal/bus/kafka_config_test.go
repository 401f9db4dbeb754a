package bus_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/bus"
)

// of is one TLS configuration for all brokers.
func of(c *tls.Config) func(string) *tls.Config { return func(string) *tls.Config { return c } }

func user(mechanism string) *bus.SASL {
	return &bus.SASL{Mechanism: mechanism, User: "millrace", Password: func() (string, error) { return "secret", nil }}
}

func TestKafkaConfigurationIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  bus.KafkaConfiguration
		want string
	}{
		{"a prefix that cannot be in a topic's name", bus.KafkaConfiguration{Brokers: []string{"127.0.0.1:9092"}, Prefix: "site/1"}, "letters, digits"},
		{"no brokers", bus.KafkaConfiguration{}, "no Kafka brokers"},
		{"another host without TLS", bus.KafkaConfiguration{Brokers: []string{"kafka-1.example.net:9092"}}, "configure TLS"},
		{"one of several without TLS", bus.KafkaConfiguration{Brokers: []string{"127.0.0.1:9092", "192.0.2.7:9092"}}, "192.0.2.7:9092"},
		{"another host with TLS", bus.KafkaConfiguration{Brokers: []string{"kafka-1.example.net:9093"}, TLS: of(&tls.Config{})}, ""},
		{"another host and plaintext allowed", bus.KafkaConfiguration{Brokers: []string{"kafka-1.example.net:9092"}, Plaintext: true}, ""},
		{"an unknown mechanism", bus.KafkaConfiguration{Brokers: []string{"127.0.0.1:9092"}, SASL: user("GSSAPI")}, `"GSSAPI"`},
		{"no user", bus.KafkaConfiguration{Brokers: []string{"127.0.0.1:9092"}, SASL: &bus.SASL{Mechanism: "PLAIN"}}, "a user and a password"},
		{"PLAIN to another host without TLS", bus.KafkaConfiguration{Brokers: []string{"192.0.2.7:9092"}, Plaintext: true, SASL: user("PLAIN")}, "sends it the password as it is"},
		{"PLAIN to another host with TLS", bus.KafkaConfiguration{Brokers: []string{"192.0.2.7:9092"}, TLS: of(&tls.Config{}), SASL: user("PLAIN")}, ""},
		{"PLAIN on this host", bus.KafkaConfiguration{Brokers: []string{"127.0.0.1:9092"}, SASL: user("PLAIN")}, ""},
		{"SCRAM to another host without TLS", bus.KafkaConfiguration{Brokers: []string{"192.0.2.7:9092"}, SASL: user("SCRAM-SHA-512")}, "configure TLS"},
		{"SCRAM to another host and plaintext allowed", bus.KafkaConfiguration{Brokers: []string{"192.0.2.7:9092"}, Plaintext: true, SASL: user("SCRAM-SHA-512")}, ""},
		{"this host", bus.KafkaConfiguration{Brokers: []string{"127.0.0.1:9092", "[::1]:9092", "localhost:9092"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := bus.NewKafka(c.cfg)
			if err == nil {
				b.Close()
			}
			if got := fmt.Sprint(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) && err != nil {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
