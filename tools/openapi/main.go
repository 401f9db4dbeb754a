// Command openapi writes docs/reference/circuits-openapi.json from the routes of services/circuits/rest.
package main

import (
	"log"
	"os"

	"github.com/millrace/millrace/services/circuits/rest"
)

func main() {
	if _, err := os.Stdout.Write(rest.OpenAPI()); err != nil {
		log.Fatal(err)
	}
}
