package document

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is one error with its place and its remedy.
type Problem struct {
	File string
	// Line and Column count from 1.
	Line, Column int
	Message      string
	// Fix says what to write instead.
	Fix string
}

// Error is the one line an operator sees; editors and terminals link its head.
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", p.File, p.Line, p.Column, p.Message, p.Fix)
}

// Join makes one error of problems, nil of none.
func Join(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Error()
	}
	return errors.New(strings.Join(lines, "\n"))
}
