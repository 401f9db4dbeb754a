package nsi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/pki"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/services/nsi/soap"
)

// With certificates a requester is who its certificate says, and callbacks go to servers with one of the same CA only.
func TestCertificates(t *testing.T) {
	t.Parallel()
	w, ca := newWorld(t), pki.New(t)
	cert, key := ca.Issue(t, "provider", "127.0.0.1")
	w.cfg.TLS = TLS{CA: ca.CA, Cert: cert, Key: key}
	told, elsewhere := make(chan string, 10), make(chan string, 10)
	ours := calledBack(t, ca, told)
	w.mayCall(ours + "/nsi/")
	r := w.cfg.Requesters[theirNSA]
	r.Certificate, r.ReplyTo = "aggregator", append(r.ReplyTo, calledBack(t, pki.New(t), elsewhere)+"/nsi/")
	w.cfg.Requesters[theirNSA] = r
	c := w.start()
	send := func(client *tls.Config, reply string) (int, string, error) {
		h := soap.Header{ProtocolVersion: soap.ToProvider, CorrelationID: newID(), RequesterNSA: theirNSA, ProviderNSA: ourNSA, ReplyTo: reply}
		transport := &http.Transport{TLSClientConfig: client}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Post("https://"+c.Address()+soapPath, "text/xml", //nolint:noctx // a test
			bytes.NewReader(soap.Envelope(h, reserve("west", "east").Bytes())))
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(raw), err
	}
	if status, answer, err := send(ca.Client(t, "somebody"), r.ReplyTo[0]); err != nil || status == http.StatusOK || !strings.Contains(answer, "<errorId>00302<") {
		t.Errorf("another name: %d, %s, %v", status, answer, err)
	}
	if _, _, err := send(pki.New(t).Client(t, "aggregator"), r.ReplyTo[0]); err == nil {
		t.Error("the same name of another CA is let in")
	}
	if _, _, err := send(&tls.Config{RootCAs: ca.Pool()}, r.ReplyTo[0]); err == nil {
		t.Error("no certificate is let in")
	}
	for _, reply := range []string{r.ReplyTo[1], r.ReplyTo[0]} {
		if status, answer, err := send(ca.Client(t, "aggregator"), reply); err != nil || status != http.StatusOK {
			t.Fatalf("%d, %s, %v", status, answer, err)
		}
	}
	if name := await.Value(t, "a callback", told); name != "provider" {
		t.Errorf("called back by %q", name)
	}
	await.True(t, "the other callback has failed", func() bool { return testutil.ToFloat64(c.metrics.messages.WithLabelValues("failed")) > 0 })
	if len(elsewhere) > 0 {
		t.Error("a server of another CA was called back")
	}
}

// A provider certificate that expires soon is an event, as those of routers are.
func TestACertificateThatExpiresIsAnEvent(t *testing.T) {
	t.Parallel()
	w, ca, memory := newWorld(t), pki.New(t), bus.NewMemory()
	t.Cleanup(func() { memory.Close() })
	told := make(chan *eventv1.Event, 10)
	must(t, memory.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		err := proto.Unmarshal(m.Value, e)
		told <- e
		return err
	}))
	cert, key := ca.IssueBetween(t, time.Now().Add(-9*time.Hour), time.Now().Add(time.Hour), pkix.Name{CommonName: "provider"}, "127.0.0.1")
	w.cfg.TLS = TLS{CA: ca.CA, Cert: cert, Key: key}
	r := w.cfg.Requesters[theirNSA]
	r.Certificate = "aggregator"
	w.cfg.Requesters[theirNSA] = r
	w.events = events.NewPublisher(memory, slog.New(slog.DiscardHandler))
	w.start()
	if e := await.Value(t, "an event", told); e.GetCode() != events.CertificateExpires.Code() || e.GetSubject() != "nsi" {
		t.Errorf("%v", e)
	}
}

// calledBack is a server with a certificate of an authority; it sends the name of each client.
func calledBack(t *testing.T, ca *pki.Authority, told chan<- string) string {
	t.Helper()
	cert, key := ca.Issue(t, "requester", "127.0.0.1")
	pair, err := tls.LoadX509KeyPair(cert, key)
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.TLS.PeerCertificates[0].Subject.CommonName }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
