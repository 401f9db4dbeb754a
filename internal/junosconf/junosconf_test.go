package junosconf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `groups te-managed {
    class-of-service {
        classifiers {
            dscp te-edge {
                forwarding-class te-lbe {
                    loss-priority low code-points [ 001000 000001 ];
                }
            }
        }
        drop-profiles te-oop interpolate {
            fill-level [ 0 100 ];
            drop-probability [ 0 100 ];
        }
        forwarding-classes {
            class te-alpha queue-num 1;
            class te-beta queue-num 0;
        }
        interfaces {
            xe-0/0/2 {
                scheduler-map te-2q;
            }
            xe-0/0/10 {
                scheduler-map te-2q;
                unit 0 {
                    classifiers {
                        exp te-2q;
                    }
                }
            }
        }
        scheduler-maps te-2q {
            forwarding-class te-alpha scheduler te-alpha;
        }
        schedulers te-alpha {
            transmit-rate {
                percent 95;
                exact;
            }
            buffer-size percent 95;
            priority medium-high;
            drop-profile-map loss-priority high protocol any drop-profile te-oop;
        }
    }
    firewall {
        family {
            inet {
                filter te-in {
                    term a7 {
                        from {
                            source-prefix-list te-src-7;
                            dscp 46;
                            protocol [ tcp udp ];
                            source-port 6000-6063;
                        }
                        then {
                            policer te-pol;
                            forwarding-class te-alpha;
                            routing-instance te-lsp-7;
                        }
                    }
                }
            }
        }
        policer te-pol {
            if-exceeding {
                bandwidth-limit 1g;
                burst-size-limit 31k;
            }
            then discard;
        }
    }
    interfaces {
        xe-0/0/2 {
            unit 0 family inet filter input te-in;
        }
    }
    policy-options {
        prefix-list te-src-7 {
            192.0.2.0/24;
        }
    }
    protocols {
        mpls {
            label-switched-path te-lsp-7 {
                to 10.255.0.4;
                no-cspf;
                primary te-p7;
            }
            path te-p7 {
                10.0.1.2 strict;
            }
        }
    }
}
apply-groups te-managed;
`

func parse(t *testing.T, text string) *Tree {
	t.Helper()
	out, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTextSetLinesAndJSONAreTheSameTree(t *testing.T) {
	want := parse(t, sample)
	raw, err := want.JSON()
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := FromJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	fromLeaves := New()
	for _, l := range want.Leaves() {
		if err := fromLeaves.SetLeaf(l.Path, l.Value); err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]*Tree{
		"leaves": fromLeaves,
		"text":   parse(t, want.Text()), "set lines": parse(t, want.SetLines()), "JSON": fromJSON, "clone": want.Clone(),
	} {
		if diff := cmp.Diff(got.Text(), want.Text()); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(want.Text(), sample); diff != "" {
		t.Errorf("text (-got +want):\n%s", diff)
	}
}

func TestEveryWayToWriteAStatementIsTheSameStatement(t *testing.T) {
	const want = "set groups g class-of-service schedulers s transmit-rate percent 5\nset groups g class-of-service schedulers s priority low\n"
	for name, text := range map[string]string{
		"a list's entries in its braces": "groups { g { class-of-service { schedulers { s { transmit-rate { percent 5; } priority low; } } } } }",
		"one line":                       "groups g class-of-service schedulers s transmit-rate percent 5;groups g class-of-service schedulers s priority low;",
		"comments and quotes":            "# one\ngroups g /* two\n lines */ { class-of-service schedulers \"s\" { priority low; transmit-rate percent 5; } }",
		"set lines, one twice":           "set groups g class-of-service schedulers s priority high\n" + want,
		"deleted and set again":          "set groups g class-of-service schedulers s buffer-size percent 5\ndelete groups g\n" + want,
	} {
		if diff := cmp.Diff(parse(t, text).SetLines(), want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestValuesAreSpeltInOneWay(t *testing.T) {
	got := parse(t, `groups g firewall { policer p if-exceeding { bandwidth-limit 1000m; burst-size-limit 31500; }
		family inet filter f term t { from { dscp ef; protocol 6; } then { dscp cs1; } } }`).Text()
	for _, want := range []string{"bandwidth-limit 1g;", "burst-size-limit 31500;", "dscp 46;", "protocol tcp;", "then dscp 8;"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown statement":      {"groups g {\n  system host-name x;\n}", `line 2: system host-name x: "system" is not known here`},
		"a word too many":           {"apply-groups g g2;", `line 1: apply-groups g g2: "g2" is not known here`},
		"a word missing":            {"groups g class-of-service schedulers s priority;", "priority: the statement ends too early"},
		"no end":                    {"apply-groups g", "line 1: a statement does not end with ; or {"},
		"a brace missing":           {"groups g {\n apply-groups x;", `line 2: apply-groups x: "apply-groups" is not known here`},
		"a brace that closes":       {"apply-groups g;\n}", "line 2: a brace closes nothing"},
		"braces that stay open":     {"groups g { class-of-service {", "the text ends before its braces are closed"},
		"a quote that stays open":   {"apply-groups \"g;", "line 1: the quoted word does not end"},
		"a comment that stays open": {"/* x", "line 1: the comment does not end"},
		"inactive statements":       {"inactive: groups g { }", `line 1: inactive: groups g: nothing that "inactive:" begins has braces here`},
		"another command":           {"set apply-groups g\nrollback 1", `line 2: "rollback" is neither set nor delete`},
		"a key without its name":    {"groups g class-of-service schedulers s drop-profile-map high;", "loss-priority must follow"},
	} {
		_, err := Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestAnOperatorsConfigurationIsReadWhereItIsKnown(t *testing.T) {
	got, err := ParseKnown(`system { host-name r1; login { user x { class super-user; } } }
		groups g { class-of-service { interfaces { xe-0/0/1 { scheduler-map own; shaping-rate 1g; unit 0 { scheduler-map too; } } } } }`)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, "groups g class-of-service interfaces { xe-0/0/1 { scheduler-map own; unit 0 { scheduler-map too; } } }")
	if diff := cmp.Diff(got.Text(), want.Text()); diff != "" {
		t.Errorf("known part (-got +want):\n%s", diff)
	}
	if _, err := ParseKnown("system { host-name r1;"); err == nil {
		t.Error("a brace that stays open is accepted")
	}
}

func TestDeleteTakesWhatIsNamed(t *testing.T) {
	for words, gone := range map[string]string{
		"groups te-managed class-of-service schedulers te-alpha":                       "priority medium-high",
		"groups te-managed class-of-service interfaces xe-0/0/10":                      "exp te-2q",
		"groups te-managed protocols mpls path te-p7 10.0.1.2":                         "10.0.1.2",
		"groups te-managed firewall family inet filter te-in term a7 from source-port": "6000-6063",
		"groups te-managed":       "te-managed {",
		"apply-groups te-managed": "apply-groups",
	} {
		tree := parse(t, sample)
		if !tree.Delete(strings.Fields(words)...) {
			t.Errorf("%s: not found", words)
		}
		if text := tree.Text(); strings.Contains(text, gone) {
			t.Errorf("%s: %q is still there:\n%s", words, gone, text)
		}
	}
	if tree := parse(t, sample); tree.Delete("groups", "other") || !tree.Equal(parse(t, sample)) {
		t.Error("what is not there was deleted")
	}
}

func TestLeavesOfARouterMakeTheTree(t *testing.T) {
	got := New()
	scheduler := []Elem{{Name: "groups", Keys: map[string]string{"name": "g"}}, {Name: "class-of-service"}, {Name: "schedulers", Keys: map[string]string{"name": "s"}}}
	for _, l := range []struct {
		path  []Elem
		value any
	}{
		{append(scheduler[:3:3], Elem{Name: "name"}), "s"},
		{append(scheduler[:3:3], Elem{Name: "transmit-rate"}, Elem{Name: "percent"}), "5"},
		{append(scheduler[:3:3], Elem{Name: "transmit-rate"}, Elem{Name: "exact"}), ""},
		{append(scheduler[:3:3], Elem{Name: "drop-profile-map", Keys: map[string]string{"loss-priority": "high", "protocol": "any"}}, Elem{Name: "drop-profile"}), "d"},
	} {
		if err := got.SetLeaf(l.path, l.value); err != nil {
			t.Fatal(err)
		}
	}
	want := parse(t, "groups g class-of-service schedulers s { transmit-rate { percent 5; exact; } drop-profile-map loss-priority high protocol any drop-profile d; }")
	if diff := cmp.Diff(got.Text(), want.Text()); diff != "" {
		t.Errorf("tree (-got +want):\n%s", diff)
	}
	whole := New()
	below := map[string]any{"class-of-service": map[string]any{"schedulers": []any{map[string]any{
		"name": "s", "transmit-rate": map[string]any{"percent": 5, "exact": []any{nil}},
		"drop-profile-map": []any{map[string]any{"loss-priority": "high", "protocol": "any", "drop-profile": "d"}},
	}}}}
	if err := whole.SetLeaf(scheduler[:1], below); err != nil || !whole.Equal(want) {
		t.Errorf("all at once: %v\n%s", err, whole.Text())
	}
	if err := got.SetLeaf([]Elem{{Name: "system"}}, "x"); err == nil {
		t.Error("a path out of the schema is accepted")
	}
}

// Whatever parses prints, and what is printed parses to the same.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("set apply-groups [ a b ]\ndelete apply-groups a")
	f.Add("groups \"a b\" { policy-options { prefix-list x { 10.0.0.0/8; } } }")
	f.Add("groups g { routing-options rib-groups r import-rib [ inet.0 x.inet.0 ]; }")
	f.Add("groups g class-of-service forwarding-classes class c queue-num 007;")
	f.Add("groups \"[\" interfaces x { }")
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := Parse(text)
		if err != nil {
			return
		}
		for name, printed := range map[string]string{"text": tree.Text(), "set lines": tree.SetLines()} {
			again, err := Parse(printed)
			if err != nil {
				t.Fatalf("%s does not parse: %v\n%s", name, err, printed)
			}
			if diff := cmp.Diff(again.Text(), tree.Text()); diff != "" {
				t.Errorf("%s (-again +first):\n%s", name, diff)
			}
		}
		if _, err := tree.JSON(); err != nil {
			t.Error(err)
		}
	})
}
