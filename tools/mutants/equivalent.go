package main

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// Equivalent is a mutant that no test can kill, because the program does the same.
type Equivalent struct {
	File    string `yaml:"file"`
	Line    string `yaml:"line"`
	Mutator string `yaml:"mutator"`
	// Reason is why it is the same.
	Reason string `yaml:"reason"`
}

func (m Mutant) is(e Equivalent) bool {
	return e.File == m.File && e.Mutator == m.Mutator && e.Line == m.Line
}

func readEquivalents(file string) ([]Equivalent, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []Equivalent
	if err := yaml.UnmarshalWithOptions(raw, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}
