// Package logins keeps the tokens of a user's logins on his host, and shows them with requests.
//
// In: the URLs of a control plane's replicas, and the token that a login made.
// Out: a file of the user that nobody else reads, and requests that carry the token.
// Next: every command of millrace that calls a control plane.
package logins

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/millrace/millrace/internal/secretfile"
)

// Variable is the environment variable of programs; it goes before the file.
const Variable = "MILLRACE_TOKEN"

// path of the file: tokens by the URL of the control plane.
func path() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for logins: %w", err)
	}
	return filepath.Join(folder, "millrace", "tokens.json"), nil
}

// Saved reads the file; one that others can read is refused, because they may have.
func Saved() (map[string]string, error) {
	file, err := path()
	if err != nil {
		return nil, err
	}
	raw, err := secretfile.Text(file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("logins, which `millrace tokens revoke` ends: %w", err)
	}
	out := map[string]string{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

// Of are the tokens that are saved for replicas of a control plane, each once.
func Of(servers []string) ([]string, error) {
	all, err := Saved()
	return of(all, servers), err
}

func of(all map[string]string, servers []string) (out []string) {
	for _, server := range servers {
		if t := all[server]; t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// Save keeps the token of replicas of a control plane in place of theirs before; empty forgets it.
func Save(servers []string, token string) error {
	all, err := Saved()
	if err != nil {
		return err
	}
	return write(replaced(all, servers, token))
}

// replaced are the tokens after a login at these servers. A token that one of them had before may be that of others as
// well, which are replicas of the same control plane: they have the new one, too.
func replaced(all map[string]string, servers []string, token string) map[string]string {
	before, out := of(all, servers), maps.Clone(all)
	for _, server := range servers {
		out[server] = token
	}
	for server, had := range all {
		if slices.Contains(before, had) {
			out[server] = token
		}
	}
	maps.DeleteFunc(out, func(_, t string) bool { return t == "" })
	return out
}

// write replaces the file whole.
func write(all map[string]string) error {
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode logins: %w", err)
	}
	file, err := path()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the folder for logins: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".tokens") // mode 0600
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("keep the login: %w", err), os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), file)
}

// tokenFor is what requests to replicas of a control plane show, which know the same logins; empty: nothing.
func tokenFor(servers []string) (string, error) {
	if t := os.Getenv(Variable); t != "" {
		return t, nil
	}
	saved, err := Of(servers)
	if len(saved) == 0 {
		return "", err
	}
	return saved[0], err
}

// Secrets are all tokens of the user on this host, for what is shown to others without them. A file that others can
// read counts as well.
func Secrets() (all []string) {
	all = append(all, os.Getenv(Variable))
	file, err := path()
	if err != nil {
		return all
	}
	saved := map[string]string{}
	if raw, err := os.ReadFile(file); err == nil && json.Unmarshal(raw, &saved) == nil {
		all = slices.AppendSeq(all, maps.Values(saved))
	}
	return all
}
