package ocunit

import (
	"fmt"
	"slices"
	"strings"
)

// Split takes the subtree a Get of root returned apart into the units Millrace
// owns, keyed by path. Entries of others are left out, as if they were not there.
func Split(root string, raw []byte) (map[string]string, error) {
	units := map[string]string{}
	if len(raw) == 0 {
		return units, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", root, err)
	}
	tree = normal(tree)
	for _, k := range Kinds {
		if k.Root == root {
			k.collect(tree, units)
		}
	}
	return units, nil
}

func (k Kind) collect(tree any, units map[string]string) {
	entries, _ := descend(tree, strings.TrimPrefix(k.List, "/")).([]any)
	for _, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok {
			continue
		}
		key, ok := entry[k.Key].(string)
		if ok && k.owns(key, entry) {
			units[k.Path(key)] = encode(entry)
		}
	}
}

func (k Kind) owns(key string, entry map[string]any) bool {
	if k.Bindings == "" {
		return strings.HasPrefix(key, OwnedPrefix)
	}
	return slices.ContainsFunc(k.bound(entry), owned)
}

func owned(name string) bool { return strings.HasPrefix(name, OwnedPrefix) }

// bound lists the names an interface's entry binds.
func (k Kind) bound(entry any) []string {
	var out []string
	for _, place := range strings.Fields(k.Bindings) {
		out = append(out, texts(entry, strings.Split(place, "/"))...)
	}
	return out
}

// texts lists the strings at a place, in every entry of the lists on the way.
func texts(v any, names []string) []string {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, texts(e, names)...)
		}
		return out
	case map[string]any:
		if len(names) > 0 {
			return texts(v[names[0]], names[1:])
		}
	case string:
		if len(names) == 0 {
			return []string{v}
		}
	}
	return nil
}

func descend(v any, path string) any {
	for _, name := range strings.Split(path, "/") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// Foreign lists the interfaces in a subtree on which an operator has bound something of their own: unit path to the
// name of what is bound. Millrace never replaces such an entry, not even where it has bound something beside it.
func Foreign(root string, raw []byte) (map[string]string, error) {
	out := map[string]string{}
	if len(raw) == 0 {
		return out, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", root, err)
	}
	tree = normal(tree)
	for _, k := range Kinds {
		if k.Root == root && k.Bindings != "" {
			k.foreign(tree, out)
		}
	}
	return out, nil
}

func (k Kind) foreign(tree any, out map[string]string) {
	entries, _ := descend(tree, strings.TrimPrefix(k.List, "/")).([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		key, _ := entry[k.Key].(string)
		for _, name := range k.bound(entry) {
			if !owned(name) {
				out[k.Path(key)] = name
			}
		}
	}
}

// Assemble is Split's inverse: the JSON a Get of root returns for a router that
// holds exactly these units. Empty when it holds none below root.
func Assemble(root string, units map[string]string) ([]byte, error) {
	tree := map[string]any{}
	for path, unit := range units {
		k, _, _, ok := Of(path)
		if !ok {
			return nil, fmt.Errorf("%s is not a configuration unit", path)
		}
		if k.Root != root {
			continue
		}
		entry, err := decode([]byte(unit))
		if err != nil {
			return nil, fmt.Errorf("read unit %s: %w", path, err)
		}
		k.insert(tree, entry)
	}
	if len(tree) == 0 {
		return nil, nil
	}
	return []byte(encode(normal(tree))), nil
}

func (k Kind) insert(tree map[string]any, entry any) {
	names := strings.Split(strings.TrimPrefix(k.List, "/"), "/")
	for i, name := range names[:len(names)-1] {
		if i == 0 {
			name = k.Module + ":" + name
		}
		child, ok := tree[name].(map[string]any)
		if !ok {
			child = map[string]any{}
			tree[name] = child
		}
		tree = child
	}
	list, _ := tree[names[len(names)-1]].([]any)
	tree[names[len(names)-1]] = append(list, entry)
}
