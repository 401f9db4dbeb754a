package tree

import (
	"strings"
	"testing"
)

func TestJSONWithAMemberTwiceIsRefused(t *testing.T) {
	for text, name := range map[string]string{
		`{"queue-id":1,"queue-id":2}`:                    "queue-id",
		`{"a":{"b":[{"c":1},{"d":":","d":2}]}}`:          "d",
		`[[{"a\"b":1,"a\"b":1}]]`:                        `a\"b`,
		`{"queue-id":1,"queue\u002did":2}`:               "queue-id",
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":":\":"}]}`: "",
		`"a:b"`: "",
		`{}`:    "",
	} {
		_, err := decode([]byte(text))
		switch {
		case name == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case name != "" && (err == nil || !strings.Contains(err.Error(), `"`+name+`" twice`)):
			t.Errorf("%s: %v, want a refusal that names %s", text, err, name)
		}
	}
}

// With its module and without is one member.
func TestAMemberWithAndWithoutModuleIsRefused(t *testing.T) {
	n := sample(t).Fork()
	v, err := decode([]byte(`{"queue-id":3,"openconfig-qos:queue-id":4}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Update(path(t, "/qos/queues/queue[name=a]/config"), v); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("both were taken: %v", err)
	}
}
