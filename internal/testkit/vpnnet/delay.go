package vpnnet

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Delayed joins two nodes by a cable that every frame crosses in the same time, in order and without loss: two TAP
// devices and a copy between them, for kernels without netem. It carries some ten thousand frames per second.
func (n *Network) Delayed(a, porta, addra, b, portb, addrb string, delay time.Duration) {
	n.T.Helper()
	var taps [2]*os.File
	for i, e := range [][3]string{{a, porta, addra}, {b, portb, addrb}} {
		n.Within(e[0], func() (err error) {
			taps[i], err = tap(e[1])
			return err
		})
		n.In(e[0], "ip", "addr", "add", e[2], "dev", e[1])
		n.In(e[0], "ip", "link", "set", "dev", e[1], "up")
		n.T.Cleanup(func() { _ = taps[i].Close() })
	}
	carry(taps[0], taps[1], delay)
	carry(taps[1], taps[0], delay)
}

// tap makes a device in the thread's namespace; it is gone when the file is closed.
func tap(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

type frame struct {
	due  time.Time
	data []byte
}

// carry copies frames until one of the devices is closed.
func carry(from, to *os.File, delay time.Duration) {
	const most = 100_000 // more than a gigabit per second for 100 ms
	way := make(chan frame, most)
	go func() {
		defer close(way)
		buffer := make([]byte, 9018)
		for {
			size, err := from.Read(buffer)
			if err != nil {
				return
			}
			way <- frame{time.Now().Add(delay), append([]byte(nil), buffer[:size]...)}
		}
	}()
	go func() {
		for f := range way {
			time.Sleep(time.Until(f.due))
			if _, err := to.Write(f.data); err != nil && errors.Is(err, os.ErrClosed) {
				return
			}
		}
	}()
}
