package scenario

import "testing"

func TestShippedScenariosLoad(t *testing.T) {
	s, err := Load("../scenarios/hntes-redirect")
	if err != nil {
		t.Fatal(err)
	}
	if s.Links[0].A.Interface != "ge-er" || s.Phases[2].Duration() != s.Phases[1].Duration() {
		t.Fatalf("%+v", s)
	}
	_, err = Parse("x.yaml", []byte("name: x\nrouters:\n  - {name: R, foo: 1}\n"))
	t.Log(err)
	_, err = Parse("x.yaml", []byte("name: x\nrouters:\n  - {name: R}\nlinks:\n  - {a: \"R:x\", b: \"Q:y\", rate: 5}\n"))
	t.Log(err)
	_, err = Parse("x.yaml", []byte("name: x\nrouters:\n  - {name: R}\nlinks:\n  - {a: \"R:x\", b: \"Q:y\"}\n  - {a: \"R:x\", b: \"Q:y\", rate: 1Mbit/s}\n"))
	t.Log(err)
}
