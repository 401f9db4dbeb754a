package bus_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/bus"
)

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
		{"another host with TLS", bus.KafkaConfiguration{Brokers: []string{"kafka-1.example.net:9093"}, TLS: &tls.Config{}}, ""},
		{"another host and plaintext allowed", bus.KafkaConfiguration{Brokers: []string{"kafka-1.example.net:9092"}, Plaintext: true}, ""},
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
