// Command modeltable writes the router agent's data model as Go tables.
//
// In: the structs and the schema that ygot generated of YANG
// (services/routeragent/octest), and yang/trim.txt. Out: nodes.go, types.go,
// modules.go and trimmed.go of the agent's model. Next:
// services/routeragent/model.
//
// The table holds what the agent uses and no more. A YANG statement that the table cannot express is an
// error here, so that no part of a model is lost unnoticed.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

func main() {
	trim := flag.String("trim", "yang/trim.txt", "list of OpenConfig subtrees the agent leaves out")
	out := flag.String("out", "services/routeragent/model", "folder of the tables")
	flag.Parse()
	if err := run(*trim, *out); err != nil {
		log.Fatal(err)
	}
}

func run(trim, out string) error {
	list, err := os.ReadFile(trim)
	if err != nil {
		return err
	}
	files, err := tables(string(list))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tables returns the text of every generated file by its name.
func tables(trim string) (map[string][]byte, error) {
	s, err := readSchema()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, body := range map[string]string{
		"nodes.go":   writeNodes(s.nodes),
		"types.go":   writeTypes(s.types),
		"modules.go": writeModules(),
		"trimmed.go": writeTrimmed(trim),
	} {
		if files[name], err = source(body); err != nil {
			return nil, err
		}
	}
	return files, nil
}
