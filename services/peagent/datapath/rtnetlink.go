package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// batchSize is the number of messages in one system call: their acknowledgements fit into a socket's default buffer.
const batchSize = 64

// rtnetlink sends RTM_* messages to the kernel in batches. A PE has thousands of ports and classes, and on busy
// processors each system call waits to be scheduled: with one message per call, 1,300 ports take minutes.
//
// The socket belongs to the network namespace of the thread that opened it, whichever thread uses it later.
type rtnetlink struct {
	socket  *nl.NetlinkSocket
	pending []byte
	first   uint32 // sequence of the first pending message
	next    uint32
	// Messages and Calls count what was sent, and in how many system calls.
	Messages, Calls int
	errs            []error
	answer          [32 << 10]byte
}

func openRtnetlink() (*rtnetlink, error) {
	s, err := nl.Subscribe(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	return &rtnetlink{socket: s, first: 1, next: 1}, nil
}

func (r *rtnetlink) close() { r.socket.Close() }

// add puts a message into the batch; flush returns its result.
func (r *rtnetlink) add(kind, flags int, data ...nl.NetlinkRequestData) {
	r.append(message(kind, flags, data...))
}

// append puts a serialised message into the batch and returns its bytes there, which may still be changed.
func (r *rtnetlink) append(m []byte) []byte {
	if r.next-r.first == batchSize {
		r.send()
	}
	at := len(r.pending)
	r.pending = append(r.pending, m...)
	for len(r.pending)%unix.NLMSG_ALIGNTO != 0 {
		r.pending = append(r.pending, 0)
	}
	binary.NativeEndian.PutUint32(r.pending[at+8:], r.next)
	r.next++
	return r.pending[at:]
}

func message(kind, flags int, data ...nl.NetlinkRequestData) []byte {
	m := nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
	for _, d := range data {
		m.AddData(d)
	}
	return m.Serialize()
}

// flush sends the rest of the batch and returns one error, or nil, per message since the last flush.
func (r *rtnetlink) flush() []error {
	r.send()
	errs := r.errs
	r.errs = nil
	return errs
}

func (r *rtnetlink) send() {
	n := int(r.next - r.first)
	if n == 0 {
		return
	}
	r.Messages += n
	r.Calls++
	errs := make([]error, n)
	if err := unix.Sendto(r.socket.GetFd(), r.pending, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		for i := range errs {
			errs[i] = fmt.Errorf("send to rtnetlink: %w", err)
		}
	} else {
		r.receive(errs)
	}
	r.errs = append(r.errs, errs...)
	r.pending, r.first = r.pending[:0], r.next
}

// receive reads the acknowledgements of a batch.
func (r *rtnetlink) receive(errs []error) {
	for left := len(errs); left > 0; {
		messages, err := r.read()
		if err != nil { // the results of the rest are not known
			for i := range errs {
				if errs[i] == nil {
					errs[i] = fmt.Errorf("receive from rtnetlink: %w", err)
				}
			}
			return
		}
		for _, m := range messages {
			if m.Header.Type != unix.NLMSG_ERROR || m.Header.Seq-r.first >= uint32(len(errs)) {
				continue
			}
			left--
			if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
				errs[m.Header.Seq-r.first] = unix.Errno(-code)
			}
		}
	}
}

// read returns the messages of one answer; they are good until the next one. The kernel answers while it takes the
// batch, so answers are there already. The library's Receive has a buffer of 64 KB made for each.
func (r *rtnetlink) read() ([]syscall.NetlinkMessage, error) {
	for {
		n, _, err := unix.Recvfrom(r.socket.GetFd(), r.answer[:], unix.MSG_DONTWAIT)
		if err == nil {
			return syscall.ParseNetlinkMessage(r.answer[:n])
		}
		if errors.Is(err, unix.EAGAIN) {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(r.socket.GetFd()), Events: unix.POLLIN}}, -1)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}

// traffic is the struct tcmsg of a qdisc, class or filter.
func traffic(index int, handle, parent, info uint32) *nl.TcMsg {
	return &nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(index), Handle: handle, Parent: parent, Info: info}
}

func kind(name string) *nl.RtAttr { return nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(name)) }

// clsact is the qdisc with the ingress and egress hooks.
func clsact(index int) []nl.NetlinkRequestData {
	return []nl.NetlinkRequestData{traffic(index, netlink.MakeHandle(0xffff, 0), netlink.HANDLE_CLSACT, 0), kind("clsact")}
}

// filter identifies the filter of a program on a hook.
func filter(index int, parent uint32) []nl.NetlinkRequestData {
	return []nl.NetlinkRequestData{traffic(index, 1, parent, filterPriority<<16|uint32(nl.Swap16(unix.ETH_P_ALL))), kind("bpf")}
}
