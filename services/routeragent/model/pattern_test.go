package model

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzShortcuts compares the shortcuts with the patterns they stand for.
func FuzzShortcuts(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "255.255.255.255/32", "256.0.0.0/8", "1.2.3/4", "01.2.3.4/5", "1.2.3.4/05", "1.2.3.4/33", "1.2.3.4", "", "1.2.3.4/", "...", "1.2.3.4.5", "1.2.3.4\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for p, short := range shortcuts {
			if got, want := short(s), regexp.MustCompile(p).MatchString(s); got != want {
				t.Errorf("%q: %v, the pattern says %v", s, got, want)
			}
		}
	})
}

func TestShortcutsAreOfPatternsInTheModel(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range patterns() {
		seen[p] = true
	}
	for p := range shortcuts {
		if !seen[p] {
			t.Errorf("no leaf has the pattern %s", p)
		}
	}
}

// patterns of all leaves.
func patterns() []string {
	var out []string
	var walk func(*Type)
	walk = func(t *Type) {
		out = append(out, t.Patterns...)
		for _, m := range t.Members {
			walk(m)
		}
	}
	for _, n := range Nodes {
		if n.Type != nil {
			walk(n.Type)
		}
	}
	return out
}

// A pattern of YANG is about the whole value (RFC 7950 section 9.4.5). OpenConfig
// writes it as a POSIX expression, whose ^ and $ Go takes for ends of lines.
func TestAPatternIsAboutTheWholeValue(t *testing.T) {
	for text, typ := range map[string]*Type{"10.0.0.1": &typeIpv4Address, "2001:db8::/32": &typeIpv6Prefix, "2001:db8::1": &typeIpv6Address, "00:00:5e:00:53:01": &typeMacAddress} {
		if _, err := typ.Check(text); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{text + "\n", "x\n" + text, text + "\nx", "\n" + text} {
			if _, err := typ.Check(bad); err == nil {
				t.Errorf("%s takes %q", typ.Name, bad)
			}
		}
	}
}

// Within one line the expressions mean what they mean in POSIX, which is how OpenConfig writes them.
func FuzzPatternsAsPOSIX(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "256.0.0.0/8", "2001:db8::1", "::/0", "2001:db8::/129", "00:00:5e:00:53:01", "80..90", "1..2..3", "65000:1", "10.0.0.1:1", "00080..0443", ""} {
		f.Add(s)
	}
	all := patterns()
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, '\n') {
			return
		}
		for _, p := range all {
			posix, err := regexp.CompilePOSIX(p)
			if err != nil {
				continue // written for XML Schema only
			}
			if got, want := regexp.MustCompile(p).MatchString(s), posix.MatchString(s); got != want {
				t.Errorf("%q matches %s: %v, in POSIX %v", s, p, got, want)
			}
		}
	})
}
