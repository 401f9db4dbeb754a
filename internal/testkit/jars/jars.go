// Package jars finds the programs of Java that tests run: a Kafka broker, ZooKeeper.
//
// In: the jars that tools/setup/jars.sh fetched. Out: the class path of a program. Next: internal/testkit/kafka,
// internal/testkit/clickhouse.
package jars

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/testkit/checkout"
)

// Classpath is that of a program whose main jar has the name's pattern, in the folder that the variable names, by
// default .cache/NAME of this repository. It skips the test where something is missing, but not in CI.
func Classpath(t testing.TB, variable, name, pattern string) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("java"); err != nil {
		missing("java is missing: run 'make setup', or install openjdk-17-jre-headless")
	}
	folder := os.Getenv(variable)
	if folder == "" {
		folder = filepath.Join(checkout.Root(t), ".cache", name)
	}
	if found, _ := filepath.Glob(filepath.Join(folder, pattern)); len(found) == 0 {
		missing("the jars of %s are missing in %s: run 'make .cache/stamps/%[1]s' ('make test' does)", name, folder)
	}
	return filepath.Join(folder, "*")
}
