package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// The mutators, by their usual names, and what each makes of an operator: those of gremlins, but for its
// invert-negatives, which is contained in ARITHMETIC_BASE.
var mutators = map[string]map[token.Token]token.Token{
	"ARITHMETIC_BASE": {
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	},
	"CONDITIONALS_BOUNDARY": {
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	},
	"CONDITIONALS_NEGATION": {
		token.EQL: token.NEQ, token.NEQ: token.EQL,
		token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ, token.GEQ: token.LSS,
	},
	"INCREMENT_DECREMENT": {token.INC: token.DEC, token.DEC: token.INC},
	"INVERT_ASSIGNMENTS": {
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
		token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN, token.REM_ASSIGN: token.MUL_ASSIGN,
	},
	"INVERT_BITWISE": {
		token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
		token.SHL: token.SHR, token.SHR: token.SHL,
	},
	"INVERT_BWASSIGN": {
		token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN,
		token.AND_NOT_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	},
	"INVERT_LOGICAL":  {token.LAND: token.LOR, token.LOR: token.LAND},
	"INVERT_LOOPCTRL": {token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK},
	"REMOVE_SELF_ASSIGNMENTS": {
		token.ADD_ASSIGN: token.ASSIGN, token.SUB_ASSIGN: token.ASSIGN, token.MUL_ASSIGN: token.ASSIGN,
		token.QUO_ASSIGN: token.ASSIGN, token.REM_ASSIGN: token.ASSIGN, token.AND_ASSIGN: token.ASSIGN,
		token.OR_ASSIGN: token.ASSIGN, token.XOR_ASSIGN: token.ASSIGN, token.AND_NOT_ASSIGN: token.ASSIGN,
		token.SHL_ASSIGN: token.ASSIGN, token.SHR_ASSIGN: token.ASSIGN,
	},
}

// site is one change of a file: an operator at an offset becomes another.
type site struct {
	mutator  string
	offset   int
	old, new token.Token
}

// apply makes the change in a text that begins at an offset of the file.
func (s site) apply(text string, begin int) string {
	at := s.offset - begin
	return text[:at] + s.new.String() + text[at+len(s.old.String()):]
}

// sites are all changes within a node, in the order of the text.
func sites(fset *token.FileSet, node ast.Node) (out []site) {
	ast.Inspect(node, func(n ast.Node) bool {
		op, pos := operatorOf(n)
		for name, become := range mutators {
			if with, ok := become[op]; ok {
				out = append(out, site{mutator: name, offset: fset.Position(pos).Offset, old: op, new: with})
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b site) int {
		if a.offset != b.offset {
			return a.offset - b.offset
		}
		return strings.Compare(a.mutator, b.mutator)
	})
	return out
}

func operatorOf(n ast.Node) (token.Token, token.Pos) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Tok, n.TokPos
	case *ast.BinaryExpr:
		return n.Op, n.OpPos
	case *ast.BranchStmt:
		return n.Tok, n.TokPos
	case *ast.IncDecStmt:
		return n.Tok, n.TokPos
	case *ast.UnaryExpr:
		return n.Op, n.OpPos
	}
	return token.ILLEGAL, token.NoPos
}
