package gnmiclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
)

const speedPath = "/interfaces/interface[name=ge-er]/state"

func startServer(t *testing.T) (*gnmitest.Server, gnmitest.Certs) {
	t.Helper()
	certs := gnmitest.NewCerts(t)
	s := gnmitest.New(t, "wr", certs)
	s.Serve(speedPath, `{"ifindex":7}`)
	s.Start(t)
	return s, certs
}

func dial(t *testing.T, d device.Device, creds *tls.Config) *gnmiclient.Client {
	t.Helper()
	c, err := gnmiclient.Dial(t.Context(), d, creds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestGetReadsOneDocument(t *testing.T) {
	s, certs := startServer(t)
	c := dial(t, s.Device, certs.Client)
	got, err := c.GetJSON(t.Context(), gnmi.GetRequest_STATE, speedPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), `{"ifindex":7}`); diff != "" {
		t.Errorf("document (-got +want):\n%s", diff)
	}
	if !c.Supports("openconfig-interfaces") || c.Supports("openconfig-qos") {
		t.Error("Supports does not say what Capabilities said")
	}
}

// TestAnAttemptLastsAsLongAsItsCaller: one to a slow or distant router ended after 5 s, and with it the
// call.
func TestAnAttemptLastsAsLongAsItsCaller(t *testing.T) {
	s, certs := startServer(t)
	for _, patience := range []time.Duration{0, time.Minute, time.Hour} {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		least := time.Now().Add(10 * time.Second)
		if patience > 0 {
			ctx, cancel = context.WithTimeout(ctx, patience)
			least, _ = ctx.Deadline()
		}
		c, err := gnmiclient.DialBy(ctx, s.Device, certs.Client, func(ctx context.Context, address string) (net.Conn, error) {
			if end, bounded := ctx.Deadline(); !bounded || end.Before(least) {
				t.Errorf("the attempt of a caller with %s ends at %s, before %s", patience, end, least)
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

func TestErrorsKeepTheRoutersStatus(t *testing.T) {
	s, certs := startServer(t)
	c := dial(t, s.Device, certs.Client)
	_, err := c.GetJSON(t.Context(), gnmi.GetRequest_STATE, "/system")
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "wr") {
		t.Errorf("error %v: want NotFound that names the router", err)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	s, certs := startServer(t)
	noCert := certs.Client.Clone()
	noCert.Certificates = nil
	for name, creds := range map[string]*tls.Config{
		"no credentials at all":           nil,
		"no client certificate":           noCert,
		"certificate of another CA":       gnmitest.NewCerts(t).Client,
		"a router that another CA signed": {RootCAs: gnmitest.NewCerts(t).Client.RootCAs, Certificates: certs.Client.Certificates},
	} {
		if c, err := gnmiclient.Dial(t.Context(), s.Device, creds); err == nil {
			c.Close()
			t.Errorf("%s: connected", name)
		}
	}
}

// A listener that records what arrives first: it must be a TLS handshake record.
func TestNothingIsSentInPlaintext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := make(chan byte, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		b := make([]byte, 1)
		if _, err := io.ReadFull(conn, b); err == nil {
			first <- b[0]
		}
	}()
	d := device.Device{Name: "plain", Address: l.Addr().String()}
	if _, err := gnmiclient.Dial(t.Context(), d, gnmitest.NewCerts(t).Client); err == nil {
		t.Error("connected to a server without TLS")
	}
	const handshake = 0x16
	if got := <-first; got != handshake {
		t.Errorf("first byte on the wire is %#x, want a TLS handshake", got)
	}
}

func TestSubscribeDeliversUntilTheHandlerStops(t *testing.T) {
	s, certs := startServer(t)
	s.OnSubscribe = func(req *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		if got := req.GetSubscription()[0].GetSampleInterval(); got != uint64(2*time.Second) {
			return status.Errorf(codes.InvalidArgument, "sample interval %d", got)
		}
		for {
			if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
				return err
			}
		}
	}
	list, err := gnmiclient.Sample(2*time.Second, "/interfaces")
	if err != nil {
		t.Fatal(err)
	}
	enough, n := errors.New("enough"), 0
	err = dial(t, s.Device, certs.Client).Subscribe(t.Context(), list, func(*gnmi.SubscribeResponse) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("Subscribe ended with %v, want the handler's error", err)
	}
}

func TestSubscribeEndsWhenTheRouterDies(t *testing.T) {
	s, certs := startServer(t)
	s.OnSubscribe = func(_ *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		go s.Stop()
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	list, err := gnmiclient.OnChange("/interfaces")
	if err != nil {
		t.Fatal(err)
	}
	err = dial(t, s.Device, certs.Client).Subscribe(context.Background(), list, func(*gnmi.SubscribeResponse) error { return nil })
	if err == nil {
		t.Error("Subscribe to a dead router returned no error")
	}
}
