package scrub

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/archive"
)

// written makes a file in a folder of the test.
func written(t *testing.T, folder, name, text string) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSettings(t *testing.T) {
	folder := t.TempDir()
	absolute := written(t, t.TempDir(), "elsewhere", "three words here\n")
	written(t, folder, "router.pw", "first line\nuser abcdefghijklmnop\n")
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"a value":                        {"password: hunter22\n", []string{"hunter22"}},
		"a file in the folder":           {"a: {password_file: router.pw}\n", []string{"first line", "user abcdefghijklmnop", "abcdefghijklmnop"}},
		"a file elsewhere":               {"token_file: " + absolute + "\n", []string{"three words here"}},
		"a key without a file":           {"tls: {key: gone.pem}\n", []string{"gone.pem"}},
		"in a list":                      {"devices: [{secret: s1}, {tokens: s2}]\n", []string{"s1", "s2"}},
		"below a name of a secret":       {"secrets: {a: 1, password: s3}\n", []string{"s3"}},
		"other settings":                 {"listen: 127.0.0.1\nkeyboard: x\n", nil},
		"what is no YAML has none found": {"a: [\npassword: x\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Settings([]byte(tt.text), folder)
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one\n": "one\n", "12345678\n": "12345678\n", "first\nsecond\n": "second\n", "a line that is longer": "",
	} {
		got, err := end(written(t, t.TempDir(), "log", text), 9)
		if err != nil || string(got) != want {
			t.Errorf("the last nine octets of %q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestBundle(t *testing.T) {
	folder := t.TempDir()
	b := NewBundle([]string{"opensesame"})
	b.Add("a opensesame", []byte("say opensesame\n"), nil)
	b.Add("b", nil, errors.New("opensesame did not open"))
	b.AddJSON("c", map[string]string{"password": "x", "name": "ann"})
	b.AddJSON("d", func() {})
	b.AddYAML("e", written(t, folder, "e.yaml", "password: x # opensesame\nname: ann\n"))
	b.AddYAML("f", filepath.Join(folder, "gone.yaml"))
	b.AddEnd("g", written(t, folder, "g.log", "opensesame\nend\n"))
	var packed bytes.Buffer
	if err := b.Write(&packed, "top"); err != nil {
		t.Fatal(err)
	}
	got := archive.Files(t, &packed)
	for name, want := range map[string]string{
		"top/a (removed)": "say (removed)\n", "top/b.missing": "(removed) did not open\n", "top/c": `"name": "ann"`, "top/d.missing": "unsupported type",
		"top/e": "name: ann", "top/f.missing": "no such file", "top/g": "(removed)\nend\n",
	} {
		if text, has := got[name]; !has || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
		if strings.Contains(got[name], "opensesame") || strings.Contains(got[name], ": x") || strings.Contains(got[name], `"x"`) {
			t.Errorf("%s has a secret: %q", name, got[name])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("beside them there are %v", got)
	}
}
