package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// keep writes what a scenario measured, so that it can be judged again without running.
func keep(file, scenario string, result any) error {
	raw, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result of %s: %w", scenario, err)
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}

// kept reads what a scenario measured last, nil where it never ran to its end.
func kept[Result any](file, scenario string) (*Result, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var r Result
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of %s: %w", scenario, err)
	}
	return &r, nil
}
