package routeragent

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Guessing costs a processor's time for each guess; one address gets few of them.
func TestGuessesArePaced(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "users: [{name: noc, password: "+string(hash)+", role: viewer}]")
	l, err := newLogins(file, slog.New(slog.DiscardHandler), nil)
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
	if _, err := newLogins(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("a users file that is not there is ignored")
	}
}
