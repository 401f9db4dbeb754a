package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"
	"golang.org/x/crypto/argon2"
)

// argonCost is what one hash takes, memory in KiB.
type argonCost struct {
	passes, memory uint32
	threads        uint8
}

// memoryConstrained is the second choice of RFC 9106 section 4, for hosts that have other things in their memory.
var memoryConstrained = argonCost{passes: 3, memory: 64 << 10, threads: 4}

const (
	argonSalt = 16
	argonKey  = 32
)

// Bounds of passwords (NIST SP 800-63B section 5.1.1): long enough to be guessed never, and short enough to be hashed.
const (
	minPassword = 12
	maxPassword = 256
)

func checkPassword(password string) error {
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
		return fmt.Errorf("a password has %d to %d characters; this one has %d", minPassword, maxPassword, n)
	}
	return nil
}

// hashPassword writes the PHC string format.
func (c *Component) hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	rand.Read(salt) //nolint:errcheck // never fails
	key, err := c.argon(ctx, password, salt)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s$%s$%s", c.cost.prefix(), base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

func (a argonCost) prefix() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d", argon2.Version, a.memory, a.passes, a.threads)
}

// Passwords are hashed maxHashing at a time, each in 64 MiB, and few may wait for it, each with its connection.
const (
	maxHashing = 2
	maxWaiting = 16
)

var errBusy = connect.NewError(connect.CodeResourceExhausted, errors.New("too many log in at once; try again"))

// argon waits for its turn, because of the memory that each takes. Its errors are Connect's; then nothing was hashed.
func (c *Component) argon(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case c.hashing <- struct{}{}:
	default:
		if err := c.waitToHash(ctx); err != nil {
			return nil, err
		}
	}
	defer func() { <-c.hashing }()
	return argon2.IDKey([]byte(password), salt, c.cost.passes, c.cost.memory, c.cost.threads, argonKey), nil
}

func (c *Component) waitToHash(ctx context.Context) error {
	select {
	case c.queue <- struct{}{}:
		defer func() { <-c.queue }()
	default:
		return errBusy
	}
	select {
	case c.hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return connect.NewError(connect.CodeCanceled, ctx.Err())
	}
}

// passwordIs takes as long where there is no password, so that nobody learns by the time whether a person exists.
func (c *Component) passwordIs(ctx context.Context, stored, password string) (bool, error) {
	if len(password) > maxPassword*utf8.UTFMax {
		return false, nil
	}
	salt, want := []byte("no such password"), []byte(nil)
	if rest, ok := strings.CutPrefix(stored, c.cost.prefix()+"$"); ok {
		a, b, _ := strings.Cut(rest, "$")
		s, err := base64.RawStdEncoding.DecodeString(a)
		k, err2 := base64.RawStdEncoding.DecodeString(b)
		if err == nil && err2 == nil && len(k) == argonKey {
			salt, want = s, k
		}
	}
	got, err := c.argon(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}
