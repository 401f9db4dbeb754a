package bus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is left of a damaged file is for somebody who looks at it: a second one must not end in its place, or nowhere.
func TestEachDamagedFileIsSetAside(t *testing.T) {
	folder := t.TempDir()
	file := waitingIn(folder, TopicFlows)
	var want [][]byte
	for _, key := range []string{"first", "second"} {
		if err := file.write([]Message{{Key: key, Value: []byte("kept")}, {Key: key, Value: []byte("damaged")}}); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(file.name)
		if err != nil {
			t.Fatal(err)
		}
		raw = raw[:len(raw)-1]
		if err := os.WriteFile(file.name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, raw)
		for range 2 { // a process may die before it has taken what is left
			if messages, lost, err := file.read(); len(messages) != 1 || lost != 1 || err != nil {
				t.Fatalf("%d messages, %d lost, %v", len(messages), lost, err)
			}
		}
		if err := file.remove(); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := filepath.Glob(file.name + ".damaged*")
	if err != nil || len(aside) != len(want) {
		t.Fatalf("%v are set aside, %v; want %d", aside, err, len(want))
	}
	for i, name := range aside {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want[i]) {
			t.Errorf("%s is another one: %v", name, err)
		}
	}
}
