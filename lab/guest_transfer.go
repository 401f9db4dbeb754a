package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// receiveAtLeast is how much must have arrived before the receiver is woken
	// (SO_RCVLOWAT): one wake-up for 44 full segments.
	receiveAtLeast = 64 << 10
	// unsentAtMost bounds what waits in the sender's kernel unsent
	// (TCP_NOTSENT_LOWAT in tcp(7)), so that a transfer ends when it should.
	unsentAtMost = 512 << 10
	// receiveBuffer is set outright: SO_RCVLOWAT would else clamp the window to
	// twice its value, and no transfer could fill a router's buffer.
	receiveBuffer = 8 << 20
	transferBlock = 256 << 10
)

// guestSink receives on a port until all streams have ended: sink PORT STREAMS.
func guestSink(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: sink PORT STREAMS")
	}
	streams, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("number of streams: %w", err)
	}
	big := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return onDescriptor(raw, func(fd int) error {
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
		})
	}}
	listener, err := big.Listen(context.Background(), "tcp", ":"+args[0])
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	fmt.Fprintln(os.Stderr, "listening")
	var total, disordered atomic.Uint64
	var wait sync.WaitGroup
	var began time.Time
	for i := range streams {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if i == 0 {
			began = time.Now()
		}
		if err := setOption(conn, unix.SOL_SOCKET, unix.SO_RCVLOWAT, receiveAtLeast); err != nil {
			return err
		}
		wait.Go(func() { drain(conn, &total, &disordered) })
	}
	report := record(began, &total, &wait)
	report.OutOfOrder = int(disordered.Load())
	return json.NewEncoder(os.Stdout).Encode(report)
}

func drain(conn net.Conn, total, disordered *atomic.Uint64) {
	defer conn.Close() // the end of the connection tells the sender that all has arrived
	defer func() {
		_ = control(conn, func(fd int) error {
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err == nil {
				disordered.Add(uint64(info.Rcv_ooopack))
			}
			return err
		})
	}()
	block := make([]byte, transferBlock)
	for {
		n, err := conn.Read(block)
		total.Add(uint64(n))
		if err != nil {
			return // the end, or a sender that was killed: what came counts
		}
	}
}

// record reads the total every second until all streams have ended.
func record(began time.Time, total *atomic.Uint64, wait *sync.WaitGroup) transferReport {
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var r transferReport
	var last Interval
	for running := true; running; {
		select {
		case <-tick.C:
		case <-done:
			running = false
		}
		sum, now := total.Load(), time.Since(began).Seconds()
		last = Interval{Start: last.End, End: now, Bytes: sum - r.Bytes, Mbps: rate(sum-r.Bytes, now-last.End)}
		r.Intervals, r.Bytes = append(r.Intervals, last), sum
	}
	r.Ended = time.Now()
	return r
}

// guestSource sends as fast as the path takes it, from the time it reads:
// source ADDRESS STREAMS SECONDS CONGESTION-CONTROL DSCP.
func guestSource(args []string) error {
	if len(args) != 5 {
		return errors.New("usage: source ADDRESS STREAMS SECONDS CONGESTION-CONTROL DSCP")
	}
	streams, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("number of streams: %w", err)
	}
	seconds, err := strconv.ParseFloat(args[2], 64)
	if err != nil {
		return fmt.Errorf("seconds: %w", err)
	}
	dscp, err := strconv.Atoi(args[4])
	if err != nil {
		return fmt.Errorf("DSCP: %w", err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	begin, err := readStart(json.NewDecoder(os.Stdin))
	if err != nil {
		return err
	}
	time.Sleep(time.Until(begin))
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds*float64(time.Second)))
	defer cancel()
	sum := transferReport{Began: time.Now()}
	reports, failures := make([]transferReport, streams), make([]error, streams)
	var wait sync.WaitGroup
	for i := range streams {
		wait.Go(func() { reports[i], failures[i] = send(ctx, args[0], args[3], dscp) })
	}
	wait.Wait()
	for _, r := range reports {
		sum.Retransmits += r.Retransmits
		for i, n := range r.Seconds {
			if i == len(sum.Seconds) {
				sum.Seconds = append(sum.Seconds, 0)
			}
			sum.Seconds[i] += n
		}
		sum.CongestionControl = r.CongestionControl
	}
	return errors.Join(errors.Join(failures...), json.NewEncoder(os.Stdout).Encode(sum))
}

// send is one stream: it sends until ctx ends, then waits until all has arrived.
func send(ctx context.Context, address, congestionControl string, dscp int) (transferReport, error) {
	var r transferReport
	marked := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return onDescriptor(raw, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, dscp<<2) })
	}}
	conn, err := marked.DialContext(ctx, "tcp4", address)
	if err != nil {
		return r, fmt.Errorf("send: %w", err)
	}
	defer conn.Close()
	if congestionControl != "" {
		if err := control(conn, func(fd int) error {
			return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestionControl)
		}); err != nil {
			return r, fmt.Errorf("set congestion control %s: %w", congestionControl, err)
		}
	}
	if err := setOption(conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentAtMost); err != nil {
		return r, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetWriteDeadline(deadline); err != nil {
		return r, err
	}
	watched := make(chan []int, 1)
	done := make(chan struct{})
	go func() { watched <- retransmissions(conn, done) }()
	block := make([]byte, transferBlock)
	for err == nil {
		_, err = conn.Write(block)
	}
	close(done)
	r.Seconds = <-watched
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return r, fmt.Errorf("send: %w", err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return r, fmt.Errorf("end the stream: %w", err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		return r, fmt.Errorf("wait until all has arrived: %w", err)
	}
	return r, control(conn, func(fd int) error { return r.read(fd) })
}

// retransmissions reads their number from the kernel every second.
func retransmissions(conn net.Conn, done <-chan struct{}) (seconds []int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var r transferReport
	for running := true; running; {
		select {
		case <-tick.C:
		case <-done:
			running = false
		}
		before := r.Retransmits
		if err := control(conn, r.read); err != nil {
			return seconds
		}
		seconds = append(seconds, r.Retransmits-before)
	}
	return seconds
}

// read reads the stream's state from the kernel.
func (r *transferReport) read(fd int) error {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return fmt.Errorf("read the stream's TCP state: %w", err)
	}
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return fmt.Errorf("read the stream's congestion control: %w", err)
	}
	r.Retransmits, r.CongestionControl = int(info.Total_retrans), name
	return nil
}

func setOption(conn net.Conn, level, option, value int) error {
	return control(conn, func(fd int) error { return unix.SetsockoptInt(fd, level, option, value) })
}

// control runs f on a connection's descriptor.
func control(conn net.Conn, f func(fd int) error) error {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	return onDescriptor(raw, f)
}

func onDescriptor(raw syscall.RawConn, f func(fd int) error) error {
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
