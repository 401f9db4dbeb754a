package flow

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/collectors/flow/worker"
)

// listenAll opens the sockets of an address, one for each worker, and has the kernel choose among them by the sender's
// address (SO_REUSEPORT, socket(7)).
//
// The first one is bound alone, so that a port that another program has is refused, whether or not that one shares it;
// a port that the kernel chooses is then nobody else's, too. A program of the same user that sets SO_REUSEPORT can
// still join the port. Its socket has a number from workers on, so it gets nothing while ours are open, unless it binds
// while they are being opened, and takes one worker's exporters, or attaches a program of its own.
func listenAll(ctx context.Context, address string, buffer int, counts []*socketCounts) (_ []*socket, err error) {
	first, err := listen(ctx, address, buffer, func(int) error { return nil })
	if err != nil {
		return nil, err
	}
	first.counts = counts[0]
	all := []*socket{first}
	if len(counts) == 1 {
		return all, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(all))
		}
	}()
	if err := first.control(share); err != nil {
		return nil, fmt.Errorf("share the port of %s among workers: %w", address, err)
	}
	same := netip.AddrPortFrom(netip.MustParseAddrPort(address).Addr(), first.address().Port()).String()
	for _, of := range counts[1:] { // the program tells them apart by the order in which they are bound
		s, err := listen(ctx, same, buffer, share)
		if err != nil {
			return nil, err
		}
		s.counts = of
		all = append(all, s)
	}
	if err := first.control(func(fd int) error { return choose(fd, len(all)) }); err != nil {
		return nil, fmt.Errorf("spread exporters over the sockets of %s: %w", address, err)
	}
	return all, nil
}

func share(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }

// choose gives the kernel the program that chooses a worker's socket.
func choose(fd, workers int) error {
	raw, err := bpf.Assemble(worker.Program(workers))
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
}

func closeAll(sockets []*socket) error {
	var errs []error
	for _, s := range sockets {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
