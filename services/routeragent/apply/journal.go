package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// record is what survives the agent: the running configuration, and while a
// commit waits for its confirmation, the one before it. It is replaced in one
// rename after the router has changed; a crash before that leaves the old
// record, and the next start converges to it.
type record struct {
	Config  json.RawMessage `json:"config"`
	Numbers intent.Numbers  `json:"numbers"`
	Pending *pending        `json:"pending,omitempty"`
}

// pending is a commit that waits for its confirmation.
type pending struct {
	ID       string          `json:"id"`
	Deadline time.Time       `json:"deadline"`
	Config   json.RawMessage `json:"previous_config"`
	Numbers  intent.Numbers  `json:"previous_numbers"`
}

const journalName = "running.json"

func readJournal(dir string) (record, error) {
	r := record{Config: json.RawMessage("{}")}
	raw, err := os.ReadFile(filepath.Join(dir, journalName))
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read journal: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read journal %s: %w", filepath.Join(dir, journalName), err)
	}
	return r, nil
}

func writeJournal(dir string, r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return kernel.WriteFile(filepath.Join(dir, journalName), raw)
}
