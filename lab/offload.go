package lab

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// plainInterfaces turns offloads off: with them a queue holds super-packets of
// 64 kB, and neither its length nor its delay is that of a router's queue.
// It is done by ioctl because a process for each interface takes the guest
// longer than all the rest of a node.
func plainInterfaces(names []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make socket: %w", err)
	}
	defer unix.Close(fd)
	for _, name := range names {
		for _, command := range []uint32{unix.ETHTOOL_STSO, unix.ETHTOOL_SGSO, unix.ETHTOOL_SGRO} {
			if err := ethtoolOff(fd, name, command); err != nil {
				return fmt.Errorf("turn off offloads of %s: %w", name, err)
			}
		}
	}
	return nil
}

// ethtoolOff is SIOCETHTOOL with struct ethtool_value {command, 0}.
func ethtoolOff(fd int, name string, command uint32) error {
	value := [2]uint32{command, 0}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the rest of struct ifreq's union
	}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	request.data = unsafe.Pointer(&value)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
