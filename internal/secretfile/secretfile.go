// Package secretfile reads secrets from files, where secret stores of hosts and clusters put them.
//
// In: a file.
// Out: the secret in it, as it is now.
// Next: what logs in or signs with it. The clients of Kafka, etcd and routers read it at each log-in, so that a
// password is replaced without a restart; for ClickHouse, the OpenID provider and webhooks it is read at the start.
package secretfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxLine is more octets than any password has, and maxText than any file of keys or tokens: a wrong file is not read
// into memory.
const maxLine, maxText = 4096, 1 << 20

// owner and mounted are bits of a mode that a file must not have. A cluster mounts secrets as root's, for the group of
// the service to read.
const owner, mounted fs.FileMode = 0o077, 0o037

// Read returns the one line of a file that its owner, and at most a group, may read. One new line at its end is not of
// the secret: editors and `echo` write it. Errors name the file, and never what is in it.
func Read(file string) (string, error) {
	raw, err := octets(file, maxLine, mounted)
	if err != nil {
		return "", err
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	switch {
	case line == "":
		return "", fmt.Errorf("the secret's file %s is empty", file)
	case strings.ContainsAny(line, "\r\n\x00"):
		return "", fmt.Errorf("the secret's file %s has more than one line, which is no secret", file)
	}
	return line, nil
}

// Text returns a file of several lines, such as keys, that its owner alone may read. Errors name the file, and never
// what is in it.
func Text(file string) ([]byte, error) { return octets(file, maxText, owner) }

func octets(file string, most int64, refused fs.FileMode) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	defer f.Close()
	info, err := f.Stat() // of what is read, not of what is there by then
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the secret's file %s is no file: name the file in it", file)
	}
	if mode := info.Mode().Perm(); mode&refused != 0 {
		return nil, fmt.Errorf("the secret's file %s is open to others (mode %#o): chmod 600 it, and replace the secret if others may have read it", file, mode)
	}
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("the secret's file %s has more than %d octets, which is no secret", file, most)
	}
	return raw, nil
}
