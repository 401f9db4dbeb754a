package pushtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/millrace/millrace/internal/configentry"
)

// rulePath is one rule of a forwarding policy, which a Set may replace or delete by itself.
var rulePath = regexp.MustCompile(`^(.*/policy\[policy-id=[^\]]*\])/rules/rule\[sequence-id=(\d+)\]$`)

// edit puts a body at a path, or deletes what is there if it is empty.
func edit(entries map[string]string, path, body string) error {
	if part := rulePath.FindStringSubmatch(path); part != nil {
		whole, err := withRule(entries[part[1]], part[2], body)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		path, body = part[1], whole
	}
	if body == "" {
		delete(entries, path)
		return nil
	}
	entries[path] = body
	return nil
}

// withRule is a policy's body with another rule at a sequence id, or without one if it is empty.
func withRule(policy, sequence, rule string) (string, error) {
	var body object
	if err := json.Unmarshal([]byte(policy), &body); err != nil {
		return "", fmt.Errorf("there is no such policy: %w", err)
	}
	rules, _ := body["rules"].(object)
	list, _ := rules["rule"].([]any)
	list = slices.DeleteFunc(list, func(r any) bool {
		one, _ := r.(object)
		return fmt.Sprintf("%.0f", one["sequence-id"]) == sequence
	})
	if rule != "" {
		var one object
		if err := json.Unmarshal([]byte(rule), &one); err != nil {
			return "", err
		}
		list = append(list, one)
	}
	body["rules"] = object{"rule": list}
	raw, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	return configentry.Canonical(raw)
}
