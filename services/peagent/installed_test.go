package peagent

import (
	"errors"
	"os"
	"strings"
	"testing"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// State files of older and newer agents.
func TestInstalledWeightsOfOtherAgents(t *testing.T) {
	const request = `{"version": {"number": "7", "id": "id7"}, "policy": "shares", "criterion": "weighted", "weights": [{"vpn": "vpn2", "weight": 5}]}`
	own, err := encodeInstalled(installation(7, &vpnv1.Weight{Vpn: "vpn2", Weight: 5}).Msg)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		taken bool
		aside bool // moved there
	}{
		"this one's":                             {string(own), true, false},
		"an agent's of before forms":             {request, true, false},
		"a newer one's with another field":       {`{"form": 1, "installed": ` + strings.Replace(request, `"policy"`, `"until": "2027", "policy"`, 1) + `}`, true, false},
		"a newer one's of another form":          {`{"form": 2, "installed": ` + request + `}`, false, false},
		"half a file":                            {string(own[:len(own)/2]), false, true},
		"a file of this form that has no weight": {`{"form": 1}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfiguration()
			cfg.State = t.TempDir() + "/weights.json"
			if err := os.WriteFile(cfg.State, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			a := newAgent(cfg, Dependencies{})
			a.readInstalled()
			if taken := a.installedVersion().GetNumber() == 7 && a.policy.Weights["vpn2"] == 5; taken != c.taken {
				t.Errorf("version %v, weights %v; taken over: %v", a.installedVersion(), a.policy.Weights, taken)
			}
			_, err := os.Stat(cfg.State + ".unreadable")
			if aside := err == nil; aside != c.aside {
				t.Errorf("moved aside: %v", aside)
			}
			is, err := os.ReadFile(cfg.State)
			if errors.Is(err, os.ErrNotExist) != c.aside || !c.aside && string(is) != c.text {
				t.Errorf("the file is %s, %v", is, err)
			}
		})
	}
}
