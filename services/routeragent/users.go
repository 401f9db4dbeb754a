package routeragent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"sync"

	"github.com/goccy/go-yaml"
	"golang.org/x/crypto/bcrypt"
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

type user struct {
	Name     string `yaml:"name"`
	Password string `yaml:"password"`
	Role     string `yaml:"role"`
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
	if err := checkRole(x.Role); err != nil {
		return err
	}
	u.byName[x.Name], u.decoy = x, []byte(x.Password)
	return nil
}

// login tells the role of a user whose password is right.
func (u *users) login(name, password string) (role string, ok bool) {
	x, exists := u.byName[name]
	digest := u.digest(name, password)
	if u.remembers(name, digest) {
		return x.Role, true
	}
	hash := u.decoy
	if exists {
		hash = []byte(x.Password)
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !exists {
		return "", false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known[name] = digest
	return x.Role, true
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
