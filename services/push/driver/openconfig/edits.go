package openconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/services/push/diff"
)

// addChange writes a change into a Set. A policy of 20,000 rules of which 200
// differ becomes 200 replaces and not one of megabytes: the router loads only
// what changed, and a person can read the request. Parts are safe because push
// has just checked that the running config is the change's Before.
func addChange(req *gnmi.SetRequest, c diff.Change) error {
	if c.After == "" {
		return addDelete(req, c.Path)
	}
	edits, ok, err := ruleEdits(c)
	if err != nil {
		return err
	}
	if !ok {
		value, err := configentry.Wire(c.Path, c.After)
		if err != nil {
			return err
		}
		return addReplace(req, c.Path, value)
	}
	for _, e := range edits {
		if e.value == nil {
			err = addDelete(req, e.path)
		} else {
			err = addReplace(req, e.path, e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addDelete(req *gnmi.SetRequest, path string) error {
	p, err := gnmiclient.ParsePath(path)
	req.Delete = append(req.Delete, p)
	return err
}

func addReplace(req *gnmi.SetRequest, path string, value []byte) error {
	p, err := gnmiclient.ParsePath(path)
	req.Replace = append(req.Replace, &gnmi.Update{Path: p, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: value}}})
	return err
}

// edit replaces a rule, or deletes it where value is nil.
type edit struct {
	path  string
	value []byte
}

// forwardingPolicy is an entry of kind configentry.ForwardingPolicy.
type forwardingPolicy struct {
	ID     string          `json:"policy-id"`
	Config json.RawMessage `json:"config"`
	Rules  struct {
		Rule []json.RawMessage `json:"rule"`
	} `json:"rules"`
}

// ruleEdits are the rules that differ; ok is false if the entry is better
// replaced whole: it is of another kind, or new, or most of it changes.
func ruleEdits(c diff.Change) (edits []edit, ok bool, err error) {
	kind, _, _, _ := configentry.Of(c.Path)
	if kind != configentry.ForwardingPolicy || c.Before == "" {
		return nil, false, nil
	}
	before, after := forwardingPolicy{}, forwardingPolicy{}
	if !strictly(c.Before, &before) || !strictly(c.After, &after) || !bytes.Equal(before.Config, after.Config) {
		return nil, false, nil
	}
	had, err := bySequence(before)
	if err != nil {
		return nil, false, err
	}
	have, err := bySequence(after)
	if err != nil {
		return nil, false, err
	}
	for n := range had {
		if have[n] == nil {
			edits = append(edits, edit{path: rulePath(c.Path, n)})
		}
	}
	for n, rule := range have {
		if bytes.Equal(had[n], rule) {
			continue
		}
		value, err := qualify(kind.Module, rule)
		if err != nil {
			return nil, false, err
		}
		edits = append(edits, edit{rulePath(c.Path, n), value})
	}
	slices.SortFunc(edits, func(a, b edit) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	return edits, len(edits) <= len(have)/2, nil
}

// strictly decodes a body if it has no member that forwardingPolicy lacks.
func strictly(body string, into *forwardingPolicy) bool {
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}

func rulePath(policy string, sequence uint32) string {
	return fmt.Sprintf("%s/rules/rule[sequence-id=%d]", policy, sequence)
}

func bySequence(p forwardingPolicy) (map[uint32]json.RawMessage, error) {
	out := make(map[uint32]json.RawMessage, len(p.Rules.Rule))
	for _, raw := range p.Rules.Rule {
		var r struct {
			Sequence uint32 `json:"sequence-id"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fmt.Errorf("read a rule of policy %s: %w", p.ID, err)
		}
		out[r.Sequence] = raw
	}
	return out, nil
}

// qualify names the module of the members at the top, as JSON_IETF requires.
func qualify(module string, rule json.RawMessage) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(rule, &members); err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		out[module+":"+name] = value
	}
	return json.Marshal(out)
}
