// Package gnmiclient is the gNMI client with which collectors read routers and services/push writes them.
//
// In: a device of the inventory, the controller's TLS credentials, paths as
// strings such as /interfaces/interface[name=ge-er]/state. Out: gNMI messages
// and plain Go values. Next: collectors/topology, collectors/telemetry and
// services/push, which decide when to reconnect.
//
// There is no plaintext mode, and no flag for one.
package gnmiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/trace"
)

const (
	// maxMessage allows for the link-state database of a large area in one answer.
	maxMessage = 64 << 20
	// A failed router is noticed after keepIdle + keepCount*keepInterval even while nothing is sent. Kernel
	// probes are used instead of HTTP/2 pings because servers may close connections that ping too often.
	keepIdle     = 5 * time.Second
	keepInterval = 5 * time.Second
	keepCount    = 3
)

// Client is one connection to one router. It reconnects by itself between
// calls; a broken Subscribe ends and is the caller's to repeat.
type Client struct {
	name string
	conn *grpc.ClientConn
	stub gnmi.GNMIClient
	caps *gnmi.CapabilityResponse
}

// Dialer makes the TCP connection below TLS.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

// Dial connects and reads the router's Capabilities, so that a wrong address, certificate or server is
// reported here and not at the first use.
func Dial(ctx context.Context, d device.Device, creds *tls.Config) (*Client, error) {
	return DialBy(ctx, d, creds, dialTCP)
}

// DialBy is Dial for routers that are not in this process's network, such as a lab's.
func DialBy(ctx context.Context, d device.Device, creds *tls.Config, dialer Dialer) (*Client, error) {
	if creds == nil {
		return nil, fmt.Errorf("connect to %s: no TLS credentials; routers are never spoken to without", d.Name)
	}
	conn, err := grpc.NewClient("passthrough:///"+d.Address,
		grpc.WithTransportCredentials(credentials.NewTLS(mtls.To(creds, d.Address))),
		grpc.WithContextDialer(dialer),
		grpc.WithUnaryInterceptor(trace.Unary),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: attempt(ctx, time.Now()),
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s at %s: %w", d.Name, d.Address, err)
	}
	c := &Client{name: d.Name, conn: conn, stub: gnmi.NewGNMIClient(conn)}
	// A server that only streams may not implement Capabilities; it then supports no model, and Require
	// reports that.
	if c.caps, err = c.Capabilities(ctx); status.Code(err) == codes.Unimplemented {
		c.caps, err = &gnmi.CapabilityResponse{}, nil
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s at %s: %w", d.Name, d.Address, err), conn.Close())
	}
	return c, nil
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepIdle, Interval: keepInterval, Count: keepCount,
	}}
	return d.DialContext(ctx, "tcp", address)
}

// unbounded is how long one attempt to connect may take for a caller who has no deadline, as by gRPC's own default.
const unbounded = 20 * time.Second

// attempt is how long one attempt to connect may take, TCP, TLS and the preface of HTTP/2 together: as long as the
// caller waits. One that is given up earlier fails the call although its time is not over; on a path of 2 s, or to a
// busy router, every attempt would.
func attempt(ctx context.Context, now time.Time) time.Duration {
	if end, bounded := ctx.Deadline(); bounded {
		return end.Sub(now)
	}
	return unbounded
}

// Close ends the connection and all its streams.
func (c *Client) Close() error { return c.conn.Close() }

// Capabilities reads the models and encodings that the router supports.
func (c *Client) Capabilities(ctx context.Context) (*gnmi.CapabilityResponse, error) {
	r, err := c.stub.Capabilities(ctx, &gnmi.CapabilityRequest{})
	if err != nil {
		return nil, fmt.Errorf("gNMI Capabilities of %s: %w", c.name, err)
	}
	return r, nil
}

// Supports reports whether the YANG module was among the router's Capabilities when Dial read them.
func (c *Client) Supports(module string) bool {
	for _, m := range c.caps.GetSupportedModels() {
		if m.GetName() == module {
			return true
		}
	}
	return false
}

// Get reads paths as JSON_IETF (RFC 7951): one notification per path, in order.
func (c *Client) Get(ctx context.Context, kind gnmi.GetRequest_DataType, paths ...string) ([]*gnmi.Notification, error) {
	req := &gnmi.GetRequest{Type: kind, Encoding: gnmi.Encoding_JSON_IETF}
	for _, s := range paths {
		p, err := ParsePath(s)
		if err != nil {
			return nil, err
		}
		req.Path = append(req.Path, p)
	}
	r, err := c.stub.Get(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("gNMI Get %v of %s: %w", paths, c.name, err)
	}
	return r.GetNotification(), nil
}

// GetJSON reads one path whose answer is one JSON document. ErrNoValue means
// the router answered and holds nothing there.
func (c *Client) GetJSON(ctx context.Context, kind gnmi.GetRequest_DataType, path string) ([]byte, error) {
	ns, err := c.Get(ctx, kind, path)
	if err != nil {
		return nil, err
	}
	for _, n := range ns {
		for _, u := range n.GetUpdate() {
			if doc := u.GetVal().GetJsonIetfVal(); len(doc) > 0 {
				return doc, nil
			}
		}
	}
	return nil, fmt.Errorf("gNMI Get %s of %s: %w", path, c.name, ErrNoValue)
}

// ErrNoValue is what GetJSON returns for a path without data.
var ErrNoValue = errors.New("no value")

// Set sends the request as it is, extensions included.
func (c *Client) Set(ctx context.Context, req *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	r, err := c.stub.Set(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("gNMI Set of %s: %w", c.name, err)
	}
	return r, nil
}

// encoding is PROTO where the router supports it, because that keeps leaves apart: one update per leaf with
// its own path (gNMI section 2.3.3).
func (c *Client) encoding() gnmi.Encoding {
	if slices.Contains(c.caps.GetSupportedEncodings(), gnmi.Encoding_PROTO) {
		return gnmi.Encoding_PROTO
	}
	return gnmi.Encoding_JSON_IETF
}

// Subscribe hands every answer to handle until the stream or ctx ends or
// handle returns an error. It returns nil only when the router closed the
// stream itself (mode ONCE). The list's encoding is chosen here.
func (c *Client) Subscribe(ctx context.Context, list *gnmi.SubscriptionList, handle func(*gnmi.SubscribeResponse) error) error {
	list.Encoding = c.encoding()
	return c.subscribe(ctx, list, handle)
}

func (c *Client) subscribe(ctx context.Context, list *gnmi.SubscriptionList, handle func(*gnmi.SubscribeResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.stub.Subscribe(ctx)
	if err != nil {
		return fmt.Errorf("gNMI Subscribe to %s: %w", c.name, err)
	}
	req := &gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list}}
	// Send's own error is only io.EOF; Recv below returns the cause.
	if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("gNMI Subscribe to %s: %w", c.name, err)
	}
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("gNMI Subscribe to %s: %w", c.name, err)
		}
		if err := handle(r); err != nil {
			return err
		}
	}
}
