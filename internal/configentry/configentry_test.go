package configentry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

func TestSplitInvertsAssemble(t *testing.T) {
	entries := map[string]string{
		Queue.Path("te-alpha"):                     mustCanonical(t, `{"name":"te-alpha","config":{"name":"te-alpha","queue-id":1}}`),
		Queue.Path("te-beta"):                      mustCanonical(t, `{"name":"te-beta","config":{"name":"te-beta","queue-id":0}}`),
		Classifier.Path("te-edge-4"):               mustCanonical(t, `{"name":"te-edge-4","config":{"name":"te-edge-4","type":"IPV4"}}`),
		IPv6PrefixSet.Path("te-net-2001:db8::-32"): mustCanonical(t, `{"name":"te-net-2001:db8::-32","config":{"prefix":["2001:db8::/32"]}}`),
		QueueManagementProfile.Path("te-2q-a"):     mustCanonical(t, `{"name":"te-2q-a","wred":{"te-qos-ext:drop-profiles":{"drop-profile":[{"loss-priority":"HIGH"}]}}}`),
		Tunnel.Path("te-lsp-7"):                    mustCanonical(t, `{"name":"te-lsp-7","config":{"type":"openconfig-mpls-types:P2P"}}`),
		QosInterface.Path("ge-0"):                  mustCanonical(t, `{"interface-id":"ge-0","output":{"scheduler-policy":{"config":{"name":"te-2q"}}}}`),
	}
	got := map[string]string{}
	for _, root := range Roots() {
		raw, err := Assemble(root, entries)
		if err != nil {
			t.Fatal(err)
		}
		part, err := Split(root, raw)
		if err != nil {
			t.Fatal(err)
		}
		for path, body := range part {
			got[path] = body
		}
	}
	if diff := cmp.Diff(got, entries); diff != "" {
		t.Errorf("entries (-got +want):\n%s", diff)
	}
}

func mustCanonical(t *testing.T, s string) string {
	t.Helper()
	out, err := Canonical([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatOthersOwnIsNotSeen(t *testing.T) {
	raw := []byte(`{"openconfig-qos:queues":{"queue":[{"name":"gold"},{"name":"te-alpha"}]},
		"openconfig-qos:interfaces":{"interface":[
			{"interface-id":"ge-0","output":{"scheduler-policy":{"config":{"name":"operators-own"}}}},
			{"interface-id":"ge-1","output":{"scheduler-policy":{"config":{"name":"te-2q"}}}},
			{"interface-id":"ge-2"}]}}`)
	got, err := Split("/qos", raw)
	if err != nil {
		t.Fatal(err)
	}
	for path := range got {
		if path != Queue.Path("te-alpha") && path != QosInterface.Path("ge-1") {
			t.Errorf("%s is taken for Millrace's", path)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d entries, want 2", len(got))
	}
	unmanaged, err := Unmanaged("/qos", raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unmanaged, map[string]string{QosInterface.Path("ge-0"): "operators-own"}); diff != "" {
		t.Errorf("bindings of others (-got +want):\n%s", diff)
	}
}

// Millrace may bind queues, classifiers and policers to a port, each alone; what an operator bound there is theirs.
func TestAPortIsOwnedByWhatIsBoundToIt(t *testing.T) {
	bound := func(classifier, policers, queues string) string {
		var parts []string
		if classifier != "" {
			parts = append(parts, `"input":{"classifiers":{"classifier":[{"type":"IPV4","config":{"type":"IPV4","name":"`+classifier+`"}}]}}`)
		}
		if policers != "" {
			parts = append(parts, `"input":{"scheduler-policy":{"config":{"name":"`+policers+`"}}}`)
		}
		if queues != "" {
			parts = append(parts, `"output":{"scheduler-policy":{"config":{"name":"`+queues+`"}}}`)
		}
		return `{"openconfig-qos:interfaces":{"interface":[{"interface-id":"ge-0",` + strings.Join(parts, ",") + `}]}}`
	}
	for _, c := range []struct {
		what, raw        string
		owned, unmanaged bool
	}{
		{"our classifier", bound("te-edge-4", "", ""), true, false},
		{"our policers", bound("", "te-police-1", ""), true, false},
		{"our queues", bound("", "", "te-2q"), true, false},
		{"an operator's classifier", bound("gold", "", ""), false, true},
		{"an operator's policers", bound("", "gold", ""), false, true},
		{"an operator's classifier beside our queues", bound("gold", "", "te-2q"), true, true},
		{"nothing", `{"openconfig-qos:interfaces":{"interface":[{"interface-id":"ge-0"}]}}`, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			entries, err := Split("/qos", []byte(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			unmanaged, err := Unmanaged("/qos", []byte(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			if _, owned := entries[QosInterface.Path("ge-0")]; owned != c.owned || (len(unmanaged) > 0) != c.unmanaged {
				t.Errorf("owned %v, unmanaged %v; want %v and %v", owned, unmanaged, c.owned, c.unmanaged)
			}
		})
	}
}

// TestWhatIsNoIdentity keeps what stands before its colon: an address, or the name of another module than OpenConfig's.
func TestWhatIsNoIdentity(t *testing.T) {
	for a, b := range map[string]string{
		`{"prefix":"2001:db8::/32"}`:       `{"prefix":"fd00:db8::/32"}`,
		`{"type":"te-types:P2P"}`:          `{"type":"P2P"}`,
		`{"type":"openconfig-mpls-types"}`: `{"type":"openconfig-mpls"}`,
	} {
		if JSONIETF.Equal(a, b) {
			t.Errorf("%s equals %s", a, b)
		}
	}
	if got, want := mustCanonical(t, `{"te-qos-ext:a":1,"openconfig-b":2}`), mustCanonical(t, `{"a":1,"b":2}`); got == want {
		t.Errorf("names of another module are spelled without it: %s", got)
	}
}

// TestListsOfSeveralTypesKeepTheirOrder: YANG has unions, and there is no order between a number and a name.
func TestListsOfSeveralTypesKeepTheirOrder(t *testing.T) {
	for _, list := range []string{`[5,"AF11"]`, `["AF11",5]`, `["AF11",true]`, `[true,"AF11"]`, `[5,{"a":1}]`} {
		got := strings.Join(strings.Fields(mustCanonical(t, list)), "")
		if got != list {
			t.Errorf("%s is spelled %s", list, got)
		}
	}
}

func TestOneEntryIsAllOfAJunosConfiguration(t *testing.T) {
	if !JunosText.Whole() || JSONIETF.Whole() {
		t.Error("Junos text is one entry, JSON one for each list entry")
	}
}

// TestAnswersThatFitNoModel are passed over, not what stands behind them.
func TestAnswersThatFitNoModel(t *testing.T) {
	entries, err := Split("/qos", []byte(`{"openconfig-qos:queues":{"queue":["no object",{"name":"te-alpha"}]}}`))
	if _, found := entries[Queue.Path("te-alpha")]; err != nil || !found {
		t.Errorf("%v, %v", entries, err)
	}
	unmanaged, err := Unmanaged("/qos", []byte(`{"openconfig-qos:interfaces":{"interface":[{"interface-id":"ge-0","output":{"scheduler-policy":{"config":{"name":{"x":1}}}}}]}}`))
	if len(unmanaged) > 0 || err != nil {
		t.Errorf("%v, %v", unmanaged, err)
	}
}

func TestSpellingDoesNotMatter(t *testing.T) {
	a := mustCanonical(t, `{"openconfig-qos:name":"x","rules":{"rule":[{"sequence-id":10},{"sequence-id":9}]},"state":{},"list":[]}`)
	b := mustCanonical(t, `{"rules":{"rule":[{"sequence-id":9},{"sequence-id":10}]},"name":"x"}`)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("canonical forms differ:\n%s", diff)
	}
	if !JSONIETF.Equal(`{"type":"openconfig-mpls-types:P2P"}`, `{"type":"P2P"}`) {
		t.Error("an identity with its module is not equal to the same without")
	}
	if JSONIETF.Equal(`{"type":"openconfig-mpls-types:P2P"}`, `{"type":"P2MP"}`) {
		t.Error("different identities are equal")
	}
	if JunosText.Equal(`{"type":"openconfig-mpls-types:P2P"}`, `{"type":"P2P"}`) {
		t.Error("text is compared as if it were JSON")
	}
}

func TestValuesAndTheirTextHaveOneSpelling(t *testing.T) {
	v := map[string]any{
		"openconfig-qos:name": "x<y", "n": uint8(7), "list": []any{map[string]any{"id": 10, "set": []int{46, 8}}, map[string]any{"id": 9}},
		"prefix": []string{"b", "a"}, "on": true, "none": nil, "empty": map[string]any(nil), "big": uint64(1) << 63, "less": int64(-1),
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := CanonicalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, mustCanonical(t, string(raw))); diff != "" {
		t.Errorf("canonical forms (-value +text):\n%s", diff)
	}
	if _, err := CanonicalValue(map[string]any{"f": 1.5}); err == nil {
		t.Error("a fraction has a canonical form")
	}
}

func TestPathsAreTakenApartAsTheyWereMade(t *testing.T) {
	for i, k := range Kinds {
		for _, key := range []string{"te-x", "ge-0/0/0.0", `odd]\name`} {
			got, order, gotKey, ok := Of(k.Path(key))
			if !ok || order != i || gotKey != key || got.List != k.List {
				t.Errorf("%s: kind %d, key %q, %v; want kind %d, key %q", k.Path(key), order, gotKey, ok, i, key)
			}
		}
	}
	if _, _, _, ok := Of("/interfaces/interface[name=x]"); ok {
		t.Error("an interface is taken for an entry")
	}
}

func TestTheWireFormIsQualifiedAtTheTop(t *testing.T) {
	got, err := Wire(Queue.Path("te-a"), `{"config":{"name":"te-a"},"name":"te-a"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"openconfig-qos:config":{"name":"te-a"},"openconfig-qos:name":"te-a"}`
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("wire form (-got +want):\n%s", diff)
	}
	if _, err := Wire("/nowhere", "{}"); err == nil {
		t.Error("a path that is no entry is accepted")
	}
}

func TestEveryEncodingHasAValueInTheAPI(t *testing.T) {
	for _, e := range Encodings {
		if m := e.ToProto(); m == policyv1.Encoding_ENCODING_UNSPECIFIED || EncodingFromProto(m) != e {
			t.Errorf("encoding %s is %s in the API; give it a value in policy.proto and a row in convert.go", e, m)
		}
	}
	if e := EncodingFromProto(policyv1.Encoding_ENCODING_UNSPECIFIED); e != "" {
		t.Errorf("an encoding that nobody set is %q", e)
	}
}
