// Command python writes the part of the Python client that is made from the OpenAPI document of the circuit service:
// the types of what is sent and answered, and one method for each operation. Comments are those of the .proto file.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/services/circuits/rest"
)

const (
	protoFile = "proto/millrace/circuits/v1/circuits.proto"
	folder    = "clients/python/src/millrace_circuits"
)

func main() {
	files, err := generate(".")
	if err != nil {
		log.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the files of the client by name; root is the repository.
func generate(root string) (map[string][]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, protoFile))
	if err != nil {
		return nil, err
	}
	d, err := readDocument(rest.OpenAPI())
	if err != nil {
		return nil, err
	}
	g, err := newGenerator(d, readComments(string(source)))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"schemas.py": g.schemas(), "operations.py": g.operations()}, nil
}
