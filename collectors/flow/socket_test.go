package flow

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/testkit/await"
)

// A datagram that waits in the socket's buffer came when it came, and not when it is read. Until the first socket of
// the machine that wants to know has been there for a moment, the kernel says when it is read.
func TestADatagramSaysWhenItCame(t *testing.T) {
	s, err := listen(t.Context(), "127.0.0.1:0", 1<<16, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	conn, err := net.Dial("udp", s.address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	await.True(t, "a datagram that came before it was read", func() bool {
		began := time.Now()
		if _, err := conn.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		await.True(t, "it waits", func() bool {
			waiting := 0
			if err := s.control(func(fd int) (err error) {
				waiting, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return waiting > 0
		})
		waits := time.Now()
		in, _, err := s.read()
		if err != nil || len(in) != 1 {
			t.Fatalf("%d datagrams, %v", len(in), err)
		}
		if in[0].At.Before(began.Round(0)) {
			t.Errorf("it came at %s, and was sent after %s", in[0].At, began)
		}
		return in[0].At.Before(waits)
	})
}

func TestControlMessages(t *testing.T) {
	message := func(kind uint32, length uint64, data ...byte) []byte {
		b := make([]byte, 16, 32)
		b[0], b[8], b[12] = byte(length), unix.SOL_SOCKET, byte(kind)
		return append(b, data...)
	}
	lost := message(unix.SO_RXQ_OVFL, 20, 7, 0, 0, 0, 0, 0, 0, 0)
	came := message(unix.SCM_TIMESTAMPNS, 32, 100, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0)
	for _, c := range []struct {
		name string
		oob  []byte
		want control
	}{
		{"none", nil, control{}},
		{"losses", lost, control{drops: 7, counted: true}},
		{"a time", came, control{at: time.Unix(100, 5)}},
		{"both", append(append([]byte{}, came...), lost...), control{at: time.Unix(100, 5), drops: 7, counted: true}},
		{"the other way round", append(append([]byte{}, lost...), came...), control{at: time.Unix(100, 5), drops: 7, counted: true}},
		{"one that is cut off", came[:30], control{}},
		{"the last one without padding", append(append([]byte{}, came...), lost[:20]...), control{at: time.Unix(100, 5), drops: 7, counted: true}},
		{"a length of nothing", message(unix.SO_RXQ_OVFL, 0, 7, 0, 0, 0), control{}},
		{"too short for its kind", message(unix.SCM_TIMESTAMPNS, 20, 1, 2, 3, 4), control{}},
	} {
		if got := parseControl(c.oob); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
