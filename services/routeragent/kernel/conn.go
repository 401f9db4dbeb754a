package kernel

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// conn is a connection to rtnetlink in one network namespace. A socket belongs to
// the namespace in which it was made, so the agent of a router and that of a test
// differ in their conn and nothing else.
type conn struct {
	*netlink.Handle
	sock *nl.NetlinkSocket
	ns   netns.NsHandle
	// routeDumps counts how often the kernel listed its routes, which takes long where there are many.
	routeDumps int
}

func dial(ns netns.NsHandle) (*conn, error) {
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	sock, err := nl.GetNetlinkSocketAt(ns, netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	return &conn{Handle: h, sock: sock, ns: ns}, nil
}

func (c *conn) close() {
	c.Handle.Close()
	c.sock.Close()
}

// batch sends requests in one system call, so that the time between a new root
// qdisc and its classes is too short for a packet to notice, and waits for
// every acknowledgement. The kernel works through a batch in order and does
// not stop at an error; the first error is returned.
func (c *conn) batch(reqs ...*nl.NetlinkRequest) error {
	if len(reqs) == 0 {
		return nil
	}
	var out []byte
	waiting := map[uint32]int{}
	for i, r := range reqs {
		r.Flags |= unix.NLM_F_ACK
		waiting[r.Seq] = i
		out = append(out, r.Serialize()...)
	}
	if err := unix.Sendto(c.sock.GetFd(), out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("send to rtnetlink: %w", err)
	}
	first, firstErr := len(reqs), error(nil)
	for len(waiting) > 0 {
		msgs, _, err := c.sock.Receive()
		if err != nil {
			return fmt.Errorf("receive from rtnetlink: %w", err)
		}
		for _, m := range msgs {
			i, ours := waiting[m.Header.Seq]
			if !ours || m.Header.Type != unix.NLMSG_ERROR {
				continue
			}
			delete(waiting, m.Header.Seq)
			if code := int32(nl.NativeEndian().Uint32(m.Data[:4])); code != 0 && i < first {
				first, firstErr = i, fmt.Errorf("request %d of %d: %w", i+1, len(reqs), unix.Errno(-code))
			}
		}
	}
	return firstErr
}

// dump reads all objects of a kind.
func (c *conn) dump(typ int, header nl.NetlinkRequestData, answer uint16) ([][]byte, error) {
	req := nl.NewNetlinkRequest(typ, unix.NLM_F_DUMP)
	req.AddData(header)
	req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: c.sock}}
	return req.Execute(unix.NETLINK_ROUTE, answer)
}
