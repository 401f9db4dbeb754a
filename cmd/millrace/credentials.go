package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/secretfile"
)

// tokenVariable is for programs; it goes before the file.
const tokenVariable = "MILLRACE_TOKEN"

// tokensFile holds the tokens of `millrace login`, by the URL of the control plane.
func tokensFile() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for logins: %w", err)
	}
	return filepath.Join(folder, "millrace", "tokens.json"), nil
}

// savedTokens reads the file; one that others can read is refused, because they may have.
func savedTokens() (map[string]string, error) {
	path, err := tokensFile()
	if err != nil {
		return nil, err
	}
	raw, err := secretfile.Text(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("logins, which `millrace tokens revoke` ends: %w", err)
	}
	out := map[string]string{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// tokensOf are what is saved for replicas of a control plane, each once.
func tokensOf(servers []string) (out []string, err error) {
	all, err := savedTokens()
	for _, server := range servers {
		if t := all[server]; t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out, err
}

// saveToken keeps the token of replicas of a control plane in place of theirs before, which may be that of others as
// well; empty forgets it. The file is replaced whole.
func saveToken(servers []string, token string) error {
	all, err := savedTokens()
	if err != nil {
		return err
	}
	before, err := tokensOf(servers)
	if err != nil {
		return err
	}
	for _, server := range servers {
		all[server] = token
	}
	for server, had := range all {
		if slices.Contains(before, had) {
			all[server] = token
		}
	}
	maps.DeleteFunc(all, func(_, t string) bool { return t == "" })
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode logins: %w", err)
	}
	path, err := tokensFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for logins: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens") // mode 0600
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("keep the login: %w", err), os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

func trimmed(server string) string { return strings.TrimRight(server, "/") }

// tokenFor is what requests to replicas of a control plane show, which know the same logins; empty: nothing.
func tokenFor(servers []string) (string, error) {
	if t := os.Getenv(tokenVariable); t != "" {
		return t, nil
	}
	saved, err := tokensOf(servers)
	if len(saved) == 0 {
		return "", err
	}
	return saved[0], err
}

// authorized shows the token with requests to the first of the servers, which next may send to another one of them.
type authorized struct {
	servers []string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := tokenFor(a.servers)
	if err != nil {
		return nil, err
	}
	if token != "" && strings.HasPrefix(r.URL.String(), a.servers[0]+"/") {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return a.next.RoundTrip(r)
}

// showing shows one token with each request.
type showing struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s showing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.token)
	return s.next.RoundTrip(r)
}
