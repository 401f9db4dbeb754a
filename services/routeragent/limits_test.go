package routeragent

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/testkit/await"
)

// One address may hold so many connections and no more, and one that ends makes room.
func TestConnectionsFromOneAddressAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := admit(l)
	accepted := make(chan net.Conn, 2*maxPerAddress)
	go func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	defer c.Close()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var first net.Conn
	for i := range maxPerAddress {
		dial()
		if conn := await.Value(t, "a connection is accepted", accepted); i == 0 {
			first = conn
		}
	}
	if _, err := dial().Read(make([]byte, 1)); err == nil || len(accepted) != 0 {
		t.Errorf("one connection more is not closed: %v", err)
	}
	first.Close()
	first.Close() // twice is once
	dial()
	await.Value(t, "a connection is accepted", accepted)
	if got := len(c.open); got != maxPerAddress {
		t.Errorf("%d connections are counted", got)
	}
}

// Calls that are refused end the connection after some time of it.
func TestAConnectionOfRefusalsIsClosed(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := admit(nil).add(near).(*connection)
	for range maxRefusals {
		c.refused()
	}
	if c.of.find(near.RemoteAddr().String()) == nil {
		t.Error("closed too early")
	}
	c.refused()
	if c.of.find(near.RemoteAddr().String()) != nil {
		t.Error("still open")
	}
}

// Guessing costs a processor's time for each guess; one address gets few of them.
func TestGuessesArePaced(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "users: [{name: noc, password: "+string(hash)+", role: viewer}]")
	l, err := newLogins(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	l.guesses.now = func() time.Time { return now }
	try := func(password, address string) codes.Code {
		_, err := l.login("noc", password, address)
		return status.Code(err)
	}
	for range maxGuesses {
		if got := try("wrong", "a"); got != codes.Unauthenticated {
			t.Fatal(got)
		}
	}
	if try("right", "a") == codes.OK {
		t.Error("an address that has guessed too often may go on")
	}
	if try("right", "b") != codes.OK {
		t.Error("another address is held up")
	}
	if try("right", "a") != codes.OK {
		t.Error("a password that was found right costs nothing, and is refused")
	}
	now = now.Add(guessPause)
	if !l.guesses.may("a") {
		t.Error("the pause does not end")
	}
	for i := range 2 * maxAddresses {
		if address := string(rune(i)); l.guesses.may(address) {
			l.guesses.wrong(address)
		}
	}
	if got := len(l.guesses.by); got > maxAddresses {
		t.Errorf("%d addresses are remembered", got)
	}
}

func TestAFileThatIsMissingAtTheStartIsAnError(t *testing.T) {
	if _, err := newLogins(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a users file that is not there is ignored")
	}
}
