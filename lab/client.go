package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is the path of one of the supervisor's namespaces.
func (s State) namespace(kind string) string { return fmt.Sprintf("/proc/%d/ns/%s", s.Pid, kind) }

// dial connects to the guest.
func (s State) dial(ctx context.Context) (net.Conn, error) {
	return s.connect(ctx, netip.AddrPortFrom(guestAddress, controlPort))
}

// Dial connects to an address of the management network, such as a router's
// agent, from the place of the control plane.
func (s State) Dial(ctx context.Context, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Is4() {
		return nil, fmt.Errorf("connect to %q in the lab: it is no IPv4 address with port", address)
	}
	return s.connect(ctx, to)
}

// connect makes the socket on a thread inside the lab netns, where it stays;
// the caller stays where it is.
func (s State) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var conn net.Conn
	err := inNamespaces(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("make socket: %w", err)
		}
		// Connecting to a guest that is not up yet must not hang for minutes.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 10_000)
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_SYNCNT, 1)
		file := os.NewFile(uintptr(fd), to.String())
		defer file.Close()
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
			return fmt.Errorf("connect to %s in the lab: %w", to, err)
		}
		conn, err = net.FileConn(file)
		return err
	}, s.namespace("net"))
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return conn, nil
}

// call is one order's life on the client's side.
type call struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	progress       func(string)
}

// order sends r and waits for its end. Cancelling the context hangs up, which
// kills what the order started.
func (s State) order(ctx context.Context, r request, c call) (exit, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return exit{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	out := &frames{w: conn}
	if err := out.sendJSON(frameRequest, r); err != nil {
		return exit{}, fmt.Errorf("send order to the guest: %w", err)
	}
	if c.stdin != nil {
		go func() {
			_, _ = io.Copy(out.writer(frameStdin), c.stdin)
			_ = out.send(frameStdin, nil)
		}()
	}
	end, err := c.receive(conn)
	if ctx.Err() != nil {
		return exit{}, ctx.Err()
	}
	return end, err
}

func (c call) receive(conn io.Reader) (exit, error) {
	for {
		kind, payload, err := readFrame(conn)
		if err != nil {
			return exit{}, fmt.Errorf("the guest hung up (is the lab still up?): %w", err)
		}
		switch kind {
		case frameStdout:
			err = pass(c.stdout, payload)
		case frameStderr:
			err = pass(c.stderr, payload)
		case frameProgress:
			if c.progress != nil {
				c.progress(string(payload))
			}
		case frameExit:
			var e exit
			if err := json.Unmarshal(payload, &e); err != nil {
				return exit{}, fmt.Errorf("decode the guest's answer: %w", err)
			}
			if e.Error != "" {
				return e, errors.New(e.Error)
			}
			return e, nil
		}
		if err != nil {
			return exit{}, fmt.Errorf("pass on output: %w", err)
		}
	}
}

func pass(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(p)
	return err
}

func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode the guest's answer: %w", err)
	}
	return nil
}
