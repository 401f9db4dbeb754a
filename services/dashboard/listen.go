package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// InheritedListener takes over a listening socket that the parent process
// opened, such as descriptor 3 of socket activation. With it the dashboard can
// be reached on the host while Millrace itself runs in the lab's own namespace.
func InheritedListener(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, "inherited listener")
	if f == nil {
		return nil, fmt.Errorf("descriptor %d is not valid", fd)
	}
	ln, err := net.FileListener(f) // duplicates the descriptor
	if err != nil {
		err = fmt.Errorf("descriptor %d is not a listening socket: %w", fd, err)
	}
	return ln, errors.Join(err, f.Close())
}

func (c *Component) listen(ctx context.Context) (net.Listener, error) {
	ln := c.deps.Listener
	if ln == nil {
		var err error
		if ln, err = new(net.ListenConfig).Listen(ctx, "tcp", c.cfg.Listen); err != nil {
			return nil, fmt.Errorf("listen for the dashboard (is another Millrace running? set dashboard.listen to a free port): %w", err)
		}
	}
	if err := c.cfg.checkAddress(ln.Addr()); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}
