package scenario

import (
	"fmt"
	"io/fs"
	"path"
)

// PolicyFile is a policy's text and the name it has in messages.
type PolicyFile struct {
	Name string
	Text []byte
}

// UsePolicy puts a policy in the place of the one that phases and changes call by a name, as `--policy NAME=FILE` does.
func (s *Scenario) UsePolicy(name string, file PolicyFile) error {
	if !s.names(name) {
		return fmt.Errorf("no phase of %s uses a policy called %q", s.Name, name)
	}
	if s.policies == nil {
		s.policies = map[string]PolicyFile{}
	}
	s.policies[name] = file
	return nil
}

// names reports whether a phase or a change uses the policy.
func (s *Scenario) names(policy string) bool {
	for _, p := range s.Phases {
		if p.Policy != nil && p.Policy.Use == policy {
			return true
		}
		for _, c := range p.Changes {
			if c.Policy.Use == policy {
				return true
			}
		}
	}
	return false
}

// Policy reads what a phase names: the file that UsePolicy gave, or the one beside the scenario. The error is
// fs.ErrNotExist where there is none, so that the caller can look among the shipped policies.
func (s *Scenario) Policy(name string) (PolicyFile, error) {
	if file, given := s.policies[name]; given {
		return file, nil
	}
	file := name
	if path.Ext(file) == "" {
		file += ".yaml"
	}
	if s.Files == nil {
		return PolicyFile{}, fmt.Errorf("the scenario has no folder: %w", fs.ErrNotExist)
	}
	if !fs.ValidPath(file) {
		return PolicyFile{}, fmt.Errorf("policy %q: a policy is a file in the scenario's folder; put another in its place with --policy NAME=FILE", name)
	}
	text, err := fs.ReadFile(s.Files, file)
	return PolicyFile{Name: path.Join(path.Dir(s.File), file), Text: text}, err
}
