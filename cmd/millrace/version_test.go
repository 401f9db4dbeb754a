package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/version"
)

func TestVersion(t *testing.T) {
	print := func(args ...string) string {
		cmd, out := root(), bytes.Buffer{}
		cmd.SetOut(&out)
		cmd.SetArgs(append([]string{"version"}, args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	var got version.Info
	if err := json.Unmarshal([]byte(print("--json")), &got); err != nil || got != version.Get() {
		t.Errorf("--json: %+v, %v", got, err)
	}
	if text := print(); !strings.HasPrefix(text, "millrace "+got.Version+"\n") {
		t.Errorf("text: %s", text)
	}
	if n := testutil.CollectAndCount(buildInfo(), "millrace_build_info"); n != 1 {
		t.Errorf("millrace_build_info has %d series", n)
	}
}
