// Package secretfile reads passwords from files, where secret stores of hosts and clusters put them.
//
// In: a file.
// Out: the secret in it, as it is now.
// Next: the clients of Kafka and etcd, at each of their log-ins, so that a password is replaced without a restart.
package secretfile

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxOctets is more than any password has: a wrong file is not read into memory.
const maxOctets = 4096

// Read returns the one line of a file. Its errors name the file, and never what is in it.
func Read(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxOctets+1))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line := strings.TrimRight(string(raw), "\r\n") // editors end files with a new line
	switch {
	case line == "":
		return "", fmt.Errorf("the password's file %s is empty", file)
	case len(raw) > maxOctets:
		return "", fmt.Errorf("the password's file %s has more than %d octets, which is no password", file, maxOctets)
	case strings.ContainsAny(line, "\r\n\x00"):
		return "", fmt.Errorf("the password's file %s has more than one line, which is no password", file)
	}
	return line, nil
}
