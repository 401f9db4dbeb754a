package configentry

import (
	"fmt"
	"slices"
	"strings"
)

// Split divides the subtree a Get of root returned into the entries Millrace
// owns, keyed by path. Entries of others are left out.
func Split(root string, raw []byte) (map[string]string, error) {
	entries := map[string]string{}
	if len(raw) == 0 {
		return entries, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", root, err)
	}
	tree = normal(tree)
	for _, k := range Kinds {
		if k.Root == root {
			k.collect(tree, entries)
		}
	}
	return entries, nil
}

func (k *Kind) collect(tree any, into map[string]string) {
	list, _ := descend(tree, strings.TrimPrefix(k.List, "/")).([]any)
	for _, e := range list {
		entry, ok := e.(map[string]any)
		if !ok {
			continue
		}
		key, ok := entry[k.Key].(string)
		if ok && k.owns(key, entry) {
			into[k.Path(key)] = encode(entry)
		}
	}
}

func (k *Kind) owns(key string, entry map[string]any) bool {
	if len(k.Bindings) == 0 {
		return strings.HasPrefix(key, OwnedPrefix)
	}
	return slices.ContainsFunc(k.bound(entry), owned)
}

func owned(name string) bool { return strings.HasPrefix(name, OwnedPrefix) }

// bound lists the names an interface's entry binds.
func (k *Kind) bound(entry any) []string {
	var out []string
	for _, path := range k.Bindings {
		out = append(out, texts(entry, strings.Split(path, "/"))...)
	}
	return out
}

// texts lists the strings at a path, in every entry of the lists on it.
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

// Unmanaged lists the interfaces in a subtree to which an operator has bound something else: entry path to the name of
// what is bound. Millrace never replaces such an entry, not even where it has bound something beside it.
func Unmanaged(root string, raw []byte) (map[string]string, error) {
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
		if k.Root == root && len(k.Bindings) > 0 {
			k.unmanaged(tree, out)
		}
	}
	return out, nil
}

func (k *Kind) unmanaged(tree any, out map[string]string) {
	list, _ := descend(tree, strings.TrimPrefix(k.List, "/")).([]any)
	for _, e := range list {
		entry, _ := e.(map[string]any)
		key, _ := entry[k.Key].(string)
		for _, name := range k.bound(entry) {
			if !owned(name) {
				out[k.Path(key)] = name
			}
		}
	}
}

// Assemble is Split's inverse: the JSON a Get of root returns of a router whose
// config is exactly these entries. Empty when none is below root.
func Assemble(root string, entries map[string]string) ([]byte, error) {
	tree := map[string]any{}
	for path, body := range entries {
		k, _, _, ok := Of(path)
		if !ok {
			return nil, fmt.Errorf("%s is no managed config entry", path)
		}
		if k.Root != root {
			continue
		}
		entry, err := decode([]byte(body))
		if err != nil {
			return nil, fmt.Errorf("read entry %s: %w", path, err)
		}
		k.insert(tree, entry)
	}
	if len(tree) == 0 {
		return nil, nil
	}
	return []byte(encode(normal(tree))), nil
}

func (k *Kind) insert(tree map[string]any, entry any) {
	names := strings.Split(strings.TrimPrefix(k.List, "/"), "/")
	for _, name := range names[:len(names)-1] {
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
