package routeragent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/access"
)

// users are those who may log in with a password. Their file is
//
//	users:
//	  - name: noc
//	    password: $2y$10$...   # bcrypt, as `htpasswd -nBC 10 noc` prints it
//	    role: viewer
type users struct {
	byName map[string]user
	// decoy is compared with when there is no such user, so that the time of an answer does not tell.
	decoy []byte

	mu sync.Mutex
	// known are passwords that were found right, keyed by user and digested
	// with a key of this process: bcrypt takes as long as a whole Set.
	known map[string][sha256.Size]byte
	key   []byte
}

// logins are the users of the file as it is now, and a limit to guessing.
type logins struct {
	users   *access.Watched[*users]
	guesses guesses
	// comparing holds a place for each bcrypt under way: it takes a processor for a tenth of a second.
	comparing chan struct{}
}

func newLogins(file string, log *slog.Logger, refused func(bool)) (*logins, error) {
	var files []string
	if file != "" {
		files = []string{file}
	}
	w, err := access.Watch(log, refused, func() (*users, error) { return readUsers(file) }, files...)
	return &logins{users: w, guesses: guesses{now: time.Now}, comparing: make(chan struct{}, 1)}, err
}

// login gives the user whose password is right.
func (l *logins) login(name, password, address string) (user, error) {
	u := l.users.Get()
	if who, ok := u.remembered(name, password); ok {
		return who, nil
	}
	if !l.guesses.may(address) {
		return user{}, status.Error(codes.Unauthenticated, "too many wrong passwords came from this address; wait a minute")
	}
	l.comparing <- struct{}{}
	who, ok := u.login(name, password)
	<-l.comparing
	if !ok {
		l.guesses.wrong(address)
		return user{}, status.Error(codes.Unauthenticated, "wrong username or password")
	}
	return who, nil
}

// still is the role that somebody who has logged in has now: none, once the file has another password, or nobody of
// that name.
func (l *logins) still(who user) access.Role {
	now := l.users.Get().byName[who.Name]
	if now.Password != who.Password {
		return ""
	}
	return now.Role
}

type user struct {
	Name     string      `yaml:"name"`
	Password string      `yaml:"password"`
	Role     access.Role `yaml:"role"`
}

// readUsers reads the file; an empty name is no users.
func readUsers(file string) (*users, error) {
	u := &users{byName: map[string]user{}, known: map[string][sha256.Size]byte{}, key: []byte(rand.Text())}
	var err error
	if u.decoy, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), bcrypt.MinCost); err != nil || file == "" {
		return u, err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	var list struct {
		Users []user `yaml:"users"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &list, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("users %s: %s", file, yaml.FormatError(err, false, false))
	}
	if list.Users == nil {
		return nil, fmt.Errorf("users %s has no list of users; write users: [] for none", file)
	}
	for _, x := range list.Users {
		if err := u.add(x); err != nil {
			return nil, fmt.Errorf("users %s: user %q: %w", file, x.Name, err)
		}
	}
	return u, nil
}

func (u *users) add(x user) error {
	if x.Name == "" || u.byName[x.Name].Name != "" {
		return fmt.Errorf("a user has a name of its own")
	}
	if _, err := bcrypt.Cost([]byte(x.Password)); err != nil {
		return fmt.Errorf("password is no bcrypt hash (%w); make one with: htpasswd -nBC 10 %s", err, x.Name)
	}
	if err := x.Role.Check(); err != nil {
		return err
	}
	u.byName[x.Name], u.decoy = x, []byte(x.Password)
	return nil
}

// remembered gives the user whose password was found right before.
func (u *users) remembered(name, password string) (who user, ok bool) {
	return u.byName[name], u.remembers(name, u.digest(name, password))
}

// login compares with the hash, and remembers a password that is right.
func (u *users) login(name, password string) (who user, ok bool) {
	x, exists := u.byName[name]
	hash := u.decoy
	if exists {
		hash = []byte(x.Password)
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !exists {
		return user{}, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known[name] = u.digest(name, password)
	return x, true
}

func (u *users) digest(name, password string) (out [sha256.Size]byte) {
	h := hmac.New(sha256.New, u.key)
	fmt.Fprintf(h, "%d %s %s", len(name), name, password)
	h.Sum(out[:0])
	return out
}

func (u *users) remembers(name string, digest [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	have, ok := u.known[name]
	return ok && hmac.Equal(have[:], digest[:])
}
