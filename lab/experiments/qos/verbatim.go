package qos

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
)

// splitTree divides one document into config entries.
func splitTree(raw []byte) (map[string]string, error) {
	entries := map[string]string{}
	for _, root := range configentry.Roots() {
		part, err := subtree(raw, root)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		some, err := configentry.Split(root, part)
		if err != nil {
			return nil, err
		}
		maps.Copy(entries, some)
	}
	if len(entries) == 0 {
		return nil, errors.New("holds nothing whose name begins with te-")
	}
	return entries, nil
}

// subtree cuts one root such as /network-instances/network-instance[name=DEFAULT]/mpls
// out of a document; nil where the document has nothing there.
func subtree(raw []byte, root string) ([]byte, error) {
	var at any
	if err := json.Unmarshal(raw, &at); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	for _, step := range strings.Split(strings.Trim(root, "/"), "/") {
		name, key, isList := strings.Cut(strings.TrimSuffix(step, "]"), "[")
		at = member(at, name)
		if isList {
			leaf, value, _ := strings.Cut(key, "=")
			list, _ := at.([]any)
			at = nil
			for _, e := range list {
				if member(e, leaf) == value {
					at = e
				}
			}
		}
		if at == nil {
			return nil, nil
		}
	}
	return json.Marshal(at)
}

// member finds a member of an object, with or without its module's name.
func member(v any, name string) any {
	object, _ := v.(map[string]any)
	for key, value := range object {
		if key == name || strings.HasSuffix(key, ":"+name) {
			return value
		}
	}
	return nil
}
