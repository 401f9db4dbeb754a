package main

import (
	"strings"
	"testing"
)

// Who is logged in sees what the login may do before it is refused.
func TestWhoAmI(t *testing.T) {
	c, run, _ := loginServer(t)
	if out, err := run("", "whoami"); err == nil || !strings.Contains(err.Error(), "millrace login") {
		t.Errorf("without a login: %v, %s", err, out)
	}
	link, err := c.LoginLink(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	must := func(input string, args ...string) string {
		t.Helper()
		out, err := run(input, args...)
		if err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
		return out
	}
	const own, bobs = "correct horse battery\n", "stapled horse battery\n"
	must(own, "users", "password", "--link", link)
	must(own, "login", "--name", "admin")
	if got := must("", "whoami", "--calls"); !strings.HasPrefix(got, "admin, admin\n") || !strings.Contains(got, "IdentityService/PutUser") {
		t.Error(got)
	}
	must("", "users", "put", "bob", "--role", "operator", "--scope", "router=edge-*")
	must(own+bobs, "users", "password", "bob")
	must(bobs, "login", "--name", "bob")
	got := must("", "whoami", "--calls")
	for _, want := range []string{
		"bob, operator\n", "limited to: operator for router=edge-*\n", "needs the role approver; bob is operator",
		"ChangeService/Create is about a policy", "within the limits", "calls are refused\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if json := must("", "whoami", "--json"); !strings.Contains(json, "ROLE_OPERATOR") {
		t.Error(json)
	}
}
