package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stateRoot holds one folder per lab. It is the only trace of a lab on the
// machine, and a stale one is recognised as such.
const stateRoot = "/run/millrace/lab"

// State is what is known of a lab from outside.
type State struct {
	Name     string  `json:"name"`
	Scenario string  `json:"scenario"`
	Backend  Backend `json:"backend"`
	// Pid and Start identify the supervisor; Start is the kernel's (field 22 of
	// /proc/PID/stat), so that a reused pid is never taken for it.
	Pid   int    `json:"pid"`
	Start string `json:"start"`
	// Output is the folder with logs, certificates, agent configurations and the
	// inventory, visible at the same path inside the guest.
	Output string `json:"output"`
	// Ready is set once the routers have converged.
	Ready bool      `json:"ready"`
	Since time.Time `json:"since"`
}

// ErrNoLab means that no lab of that name is up.
var ErrNoLab = errors.New("no such lab is up")

func stateFolder(name string) string { return filepath.Join(stateRoot, name) }

func (s State) write() error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode lab state: %w", err)
	}
	path := filepath.Join(stateFolder(s.Name), "state.json")
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write lab state: %w", err)
	}
	return os.Rename(path+".new", path)
}

func readState(name string) (State, error) {
	raw, err := os.ReadFile(filepath.Join(stateFolder(name), "state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return State{}, fmt.Errorf("lab %s: %w; start it with millrace lab up", name, ErrNoLab)
	}
	var s State
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return State{}, fmt.Errorf("read state of lab %s: %w", name, err)
	}
	return s, nil
}

// Alive distinguishes a running lab from a state folder that a killed one left.
func (s State) Alive() bool {
	start, err := startTime(s.Pid)
	return err == nil && start == s.Start
}

// startTime is field 22; the second field, the program's name, may hold spaces,
// so counting begins after its closing parenthesis. Zombies count as gone.
func startTime(pid int) (string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

// List returns every lab that is up, and removes what killed ones left.
func List() ([]State, error) {
	entries, err := os.ReadDir(stateRoot)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	var all []State
	for _, e := range entries {
		s, err := readState(e.Name())
		if err == nil && s.Alive() {
			all = append(all, s)
		} else if err == nil {
			_ = os.RemoveAll(stateFolder(e.Name()))
		}
	}
	return all, nil
}
