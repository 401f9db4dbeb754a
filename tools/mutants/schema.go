package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// copied is a mutant and, if it is within a function, the lines of the function's copy in the schema.
type copied struct {
	Mutant
	site        site
	number      int
	first, last int
}

// source is one file of a package, and its mutants.
type source struct {
	text    string
	fset    *token.FileSet
	file    *ast.File
	mutants []*copied
}

// parseSource finds the mutants of a file and numbers them from a number on.
func parseSource(name, text string, number int) (*source, error) {
	s := &source{text: text, fset: token.NewFileSet()}
	var err error
	if s.file, err = parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	for i, at := range sites(s.fset, s.file) {
		before := text[:at.offset]
		row, column := strings.Count(before, "\n"), at.offset-strings.LastIndex(before, "\n")-1
		s.mutants = append(s.mutants, &copied{site: at, number: number + i, Mutant: Mutant{
			File: name, Mutator: at.mutator, Row: row + 1, Line: mark(lines[row], column),
		}})
	}
	return s, nil
}

// functions are those that have mutants, with their mutants. Nobody can call init or a blank function by name.
func (s *source) functions() (out []function) {
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name == "init" || f.Name.Name == "_" {
			continue
		}
		begin, end := s.offset(f.Pos()), s.offset(f.End())
		fn := function{source: s, decl: f, begin: begin, text: s.text[begin:end]}
		for _, m := range s.mutants {
			if m.site.offset >= begin && m.site.offset < end {
				fn.mutants = append(fn.mutants, m)
			}
		}
		if len(fn.mutants) > 0 {
			out = append(out, fn)
		}
	}
	return out
}

// outside are the mutants that no copy of a function can hold, such as those of a constant.
func (s *source) outside() (out []*copied) {
	within := map[*copied]bool{}
	for _, f := range s.functions() {
		for _, m := range f.mutants {
			within[m] = true
		}
	}
	for _, m := range s.mutants {
		if !within[m] {
			out = append(out, m)
		}
	}
	return out
}

// schema is the file with every function that has mutants in several copies: the function itself under another name, in
// its place; one copy for each mutant; and, under the function's name, a switch between them. So one compilation
// serves all mutants. Those that are NOT VIABLE are left out.
func (s *source) schema() string {
	var out, copies strings.Builder
	at := 0
	row := strings.Count(s.text, "\n") + 2
	for _, f := range s.functions() {
		name := s.offset(f.decl.Name.Pos())
		out.WriteString(s.text[at:name] + f.name(0))
		at = name + len(f.decl.Name.Name)
		var cases strings.Builder
		for _, m := range f.mutants {
			if m.Status == notViable {
				continue
			}
			body := f.copy(m)
			copies.WriteString(body + "\n")
			m.first, m.last = row, row+strings.Count(body, "\n")
			row = m.last + 1
			fmt.Fprintf(&cases, "case %d: %s; ", m.number, f.call(m.number))
		}
		choice := fmt.Sprintf("%s { switch mutantChoice { %sdefault: %s } }\n", f.head(), cases.String(), f.call(0))
		copies.WriteString(choice)
		row += strings.Count(choice, "\n")
	}
	return out.String() + s.text[at:] + "\n" + copies.String()
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

// function is one that has mutants.
type function struct {
	source  *source
	decl    *ast.FuncDecl
	begin   int
	text    string
	mutants []*copied
}

func (f function) name(number int) string {
	return fmt.Sprintf("%s_mutant%d", f.decl.Name.Name, number)
}

// copy is the function with a mutant and under its name.
func (f function) copy(m *copied) string {
	name := f.source.offset(f.decl.Name.Pos()) - f.begin
	end := name + len(f.decl.Name.Name)
	return f.text[:name] + f.name(m.number) + m.site.apply(f.text[end:], f.begin+end)
}

func (f function) textOf(n ast.Node) string {
	return f.source.text[f.source.offset(n.Pos()):f.source.offset(n.End())]
}

// head declares the function with a name for each of its parameters, so that they can be passed on.
func (f function) head() string {
	var b strings.Builder
	b.WriteString("func ")
	if f.decl.Recv != nil {
		fmt.Fprintf(&b, "(mutantSelf %s) ", f.textOf(f.decl.Recv.List[0].Type))
	}
	b.WriteString(f.decl.Name.Name)
	if p := f.decl.Type.TypeParams; p != nil {
		b.WriteString(f.textOf(p))
	}
	var params []string
	for _, p := range f.decl.Type.Params.List {
		for range max(len(p.Names), 1) {
			params = append(params, fmt.Sprintf("mutantArg%d %s", len(params), f.textOf(p.Type)))
		}
	}
	fmt.Fprintf(&b, "(%s)", strings.Join(params, ", "))
	if f.decl.Type.Results != nil {
		b.WriteString(" " + f.textOf(f.decl.Type.Results))
	}
	return b.String()
}

// call passes the parameters on to a copy.
func (f function) call(number int) string {
	callee := f.name(number)
	if f.decl.Recv != nil {
		callee = "mutantSelf." + callee
	}
	if p := f.decl.Type.TypeParams; p != nil {
		var names []string
		for _, field := range p.List {
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
		}
		callee += "[" + strings.Join(names, ", ") + "]"
	}
	var args []string
	for _, p := range f.decl.Type.Params.List {
		for range max(len(p.Names), 1) {
			arg := fmt.Sprintf("mutantArg%d", len(args))
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	callee = fmt.Sprintf("%s(%s)", callee, strings.Join(args, ", "))
	if f.decl.Type.Results != nil {
		return "return " + callee
	}
	return callee
}
