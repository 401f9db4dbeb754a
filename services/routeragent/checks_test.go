package routeragent_test

import (
	"fmt"
	"slices"
	"testing"
)

// check is one thing that a gNMI target must do, or refuse. The numbers are
// those of docs/reference/gnmi.md.
type check struct {
	number   int
	sentence string
	// section of the gNMI specification 0.10, or of the extension's own; "ours" where the
	// specification forbids something without saying which status code the answer has.
	section string
	run     func(*testing.T)
}

var checks = []check{
	{1, "Capabilities: version 0.10.0, JSON and JSON_IETF, every model with its version", "3.2.2, 2.3.1", check01},
	{2, "plaintext is never served", "3.1", check02},
	{3, "no client certificate or one of another CA: no handshake; wrong password: UNAUTHENTICATED", "3.1, 3.4.7", check03},
	{4, "a viewer reads, and a Set of it is PERMISSION_DENIED and changes nothing; without a role, everything is", "3.4.7", check04},
	{5, "Get: one Notification per requested path, timestamps in nanoseconds", "3.3.2", check05},
	{6, "Get of an absent, an unimplemented and an unknown path: a code each; a default in use is a value", "3.3.4", check06},
	{7, "an encoding we lack is UNIMPLEMENTED, none is JSON", "3.3.1", check07},
	{8, "CONFIG and STATE are disjoint and together are ALL", "3.3.1", check08},
	{9, "the root, lists without keys, wildcards for keys and names, and none of them in an answer", "2.2.2, path conventions", check09},
	{10, "JSON_IETF: 64-bit numbers are strings, names have their module; never mixed with JSON", "2.3.1", check10},
	{11, "target is echoed, or absent; so is the origin, in prefix or path as it was asked; origin in prefix and path is INVALID_ARGUMENT", "2.2.2.1, 2.7 (code: ours)", check11},
	{12, "an unknown origin is INVALID_ARGUMENT, none is openconfig", "2.7.1 (code: ours)", check12},
	{13, "delete before replace before update, whatever the message's order; the last update stands", "3.4", setChecks(13)},
	{14, "an empty Set is OK", "3.4", setChecks(14)},
	{15, "delete of what is not there is OK; with wildcards it takes every match", "3.4.6", setChecks(15)},
	{16, "delete of a container takes what is in it; a write to state is INVALID_ARGUMENT", "3.4.6 (code: ours)", setChecks(16)},
	{17, "update of a list's container keeps the other entries", "3.4.4", setChecks(17)},
	{18, "replace of a list's container removes the other entries", "3.4.4", setChecks(18)},
	{19, "replace of a container unsets what it does not name, or returns it to its default", "3.4.4", setChecks(19)},
	{20, "replace of a list entry by {} or of a leaf by null is INVALID_ARGUMENT", "3.4.4", setChecks(20)},
	{21, "a write with a subset of keys, or a key that differs from the body's, is INVALID_ARGUMENT", "3.4.5", setChecks(21)},
	{22, "a write to a path the model lacks is NOT_FOUND; wrong type, range, word or syntax INVALID_ARGUMENT", "3.4.7", setChecks(22)},
	{23, "a dangling leafref or an unsatisfied when is INVALID_ARGUMENT and names the path", "3.4.7", setChecks(23)},
	{24, "a Set whose last operation is bad changes nothing: tree, kernel, subscribers", "3.4.3", check24},
	{25, "a Set that fails at any step of applying changes nothing", "3.4.3", check25},
	{26, "one UpdateResult per operation, in order; timestamp", "3.4.2", check26},
	{27, "union_replace: the tree equals the union; with another operation or a conflict INVALID_ARGUMENT", "3.4, union_replace 5.3.3.2", check27},
	{28, "two origins in one Set: all or nothing, here an error", "2.7.4", check28},
	{29, "scalars and both kinds of JSON are taken, ASCII is not; leaf-lists are added to, or replaced", "2.2.3, 3.4.4", check29},
	{30, "the same Set twice: OK, and the second changes nothing and is not noticed", "3.4", check30},
	{31, "an unconfirmed commit is rolled back, kernel too; a confirmed one stays; without duration 10 minutes", "commit-confirmed 3.2.1", check31},
	{32, "Set and commit while one waits, another id, none waiting, duration 0, no id, any extension twice: a code each", "commit-confirmed 3.2", check32},
	{33, "kill -9 or reboot while a commit waits: the old configuration is back", "commit-confirmed 2", check33},
	{34, "a lower election id is PERMISSION_DENIED, per role; without id INVALID_ARGUMENT", "master-arbitration 3.2", check34},
	{35, "ONCE: all data, sync_response, end with OK", "3.5.1.5.1", check35},
	{36, "POLL: each poll brings data and sync_response; a poll first is INVALID_ARGUMENT", "3.5.1.5.3", check36},
	{37, "ON_CHANGE: initial values, one sync_response, then changes; delete when an instance goes; defaults are updates", "3.5.1.5.2, 3.5.2.3", check37},
	{38, "a heartbeat sends unchanged values again", "3.5.1.5.2", check38},
	{39, "SAMPLE at its interval, 0 the lowest, less refused; suppress_redundant sends changed leaves only", "3.5.1.5.2", check39},
	{40, "TARGET_DEFINED with sample_interval is INVALID_ARGUMENT, without it sends counters and changes", "3.5.1.5.2", check40},
	{41, "updates_only: sync_response first", "3.5.2.3", check41},
	{42, "a stream on an absent path waits for it; unimplemented and unknown paths are refused", "3.5.2.4", check42},
	{43, "a second list on one call is INVALID_ARGUMENT, other calls live on", "3.5.1.1 (3, not the 4 it prints)", check43},
	{44, "a slow reader is bounded, notified how much it missed, and delays nobody", "2.1 duplicates", check44},
	{45, "counters are true: octets as sent, drops exact", "ours", check45},
	{46, "reflection and health are served", "3", check46},
	{47, "no path leaks across network instances or targets", "2.2.2.1", check47},
	{48, "5,000 rules and 20,000 prefixes: set whole, or not at all", "3.4.3", check48},
}

func TestChecks(t *testing.T) {
	for _, c := range checks {
		t.Run(fmt.Sprintf("%02d %s", c.number, c.sentence), c.run)
	}
}

func TestNoCheckIsMissing(t *testing.T) {
	var have, want []int
	for i, c := range checks {
		have, want = append(have, c.number), append(want, i+1)
		if c.sentence == "" || c.section == "" || c.run == nil {
			t.Errorf("check %d lacks a sentence, a section or a test", c.number)
		}
	}
	if !slices.Equal(have, want) || len(have) != 48 {
		t.Errorf("checks %v, want 1 to 48 in order", have)
	}
}
