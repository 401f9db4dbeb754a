package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNewer means that a newer agent has written a file. Nothing was changed then: the router forwards as it is
// configured.
var ErrNewer = errors.New("written by a newer agent")

// Decode reads a file of the agent. One of a later form than this agent knows is refused, and so is a member that it
// does not know: it would be gone with the next write.
func Decode(file string, raw []byte, form int, into any) error {
	var of struct {
		Form int `json:"form"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if of.Form > form {
		return Newer(file, fmt.Errorf("it has form %d, and this agent knows forms up to %d", of.Form, form))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Newer(file, err)
	}
	return nil
}

// Newer is ErrNewer of a file, with what to do.
func Newer(file string, why error) error {
	return fmt.Errorf("%s cannot be taken over, it is %w or damaged (%w): start the newer agent again. "+
		"The router forwards as it is configured meanwhile; to begin without a configuration, move the agent's data folder aside", file, ErrNewer, why)
}
