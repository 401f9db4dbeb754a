package scrub

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// Settings are the secrets of a configuration file and of the files that it names, in its folder if not elsewhere. A
// file that is no YAML has none that can be found.
func Settings(raw []byte, folder string) []string {
	var tree any
	if yaml.Unmarshal(raw, &tree) != nil {
		return nil
	}
	return settings(tree, folder)
}

// named are settings whose value is a secret or a file with one.
var named = regexp.MustCompile(`(password|secret|token|key)s?(_file)?$`)

func settings(tree any, folder string) (all []string) {
	switch v := tree.(type) {
	case map[string]any:
		for name, value := range v {
			text, is := value.(string)
			if !is || !named.MatchString(name) {
				all = append(all, settings(value, folder)...)
				continue
			}
			all = append(all, valueOrContent(text, folder)...)
		}
	case []any:
		for _, value := range v {
			all = append(all, settings(value, folder)...)
		}
	}
	return all
}

// leastWord is how long a word of a file must be to be a secret by itself.
const leastWord = 16

// valueOrContent are the lines and long words of the file that a setting names; where there is none, it is the setting.
func valueOrContent(setting, folder string) (all []string) {
	raw, err := os.ReadFile(Under(folder, setting))
	if err != nil {
		return []string{setting}
	}
	for line := range strings.Lines(string(raw)) {
		all = append(all, strings.TrimSpace(line))
		for _, word := range strings.Fields(line) {
			if len(word) >= leastWord {
				all = append(all, word)
			}
		}
	}
	return all
}

// Under is a file that a setting names relative to a folder.
func Under(folder, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}
