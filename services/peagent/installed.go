package peagent

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// installedForm is that of the state file which this agent writes; it reads all before it. A field that is added to the
// request is no other form: an older agent leaves it out of account.
const installedForm = 1

// installedFile is the state file.
type installedFile struct {
	// Form is 0 in a file from before forms were counted, which is the request alone.
	Form      int             `json:"form"`
	Installed json.RawMessage `json:"installed"`
}

// errNewerFile means that a newer agent has written the state file.
var errNewerFile = errors.New("a newer agent has written it")

func encodeInstalled(r *vpnv1.InstallRequest) ([]byte, error) {
	raw, err := protojson.Marshal(r)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(installedFile{installedForm, raw}, "", "  ")
}

func decodeInstalled(raw []byte) (*vpnv1.InstallRequest, error) {
	var f installedFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Form > installedForm:
		return nil, fmt.Errorf("%w: it has form %d, and this agent knows forms up to %d", errNewerFile, f.Form, installedForm)
	case f.Form == 0:
		f.Installed = raw
	}
	r := &vpnv1.InstallRequest{}
	return r, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(f.Installed, r)
}
