package scrub

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"GET /v1 Authorization: Bearer mrt_k3v7_abcdef", "GET /v1 Authorization: (removed)"},
		{`curl -H "X: bearer abc.def-1="`, `curl -H "X: bearer (removed)"`},
		{"Log in within 15m: http://localhost:8080/#login=mrl_AB-c_9", "Log in within 15m: http://localhost:8080/#login=mrl_(removed)"},
		{"a -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY----- b", "a (removed) b"},
		{"a -----BEGIN PRIVATE KEY-----\nMHcC cut off", "a (removed)"},
		{"etcd at https://root:pw@192.0.2.1:2379/", "etcd at https://(removed)@192.0.2.1:2379/"},
		{`{"password":"with \"quotes\" in it","name":"ann"}`, `{"password":(removed),"name":"ann"}`},
		{`msg="x" body="{\"token\":\"abc\"}"`, `msg="x" body="{\"token\":(removed)}"`},
		{"password=hunter2&user=ann", "password=(removed)&user=ann"},
		{"clickhouse_password: 'two words' # why", "clickhouse_password: (removed) # why"},
		{"Set-Cookie: session=abc; HttpOnly\nnext", "Set-Cookie: (removed)\nnext"},
		{"hash $argon2id$v=19$m=65536$abc$def end", "hash (removed) end"},
		{"the horse is in stable9", "the horse is in (removed)"},
		// What is none stays.
		{`millrace_logins_total{method="password",result="done"} 3`, `millrace_logins_total{method="password",result="done"} 3`},
		{"password_file: /etc/millrace/pw", "password_file: /etc/millrace/pw"},
		{"short pin", "short pin"},
		{"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"},
	} {
		if got := Text(c.text, []string{"stable9", "horse", "stable", "pin"}); got != c.want {
			t.Errorf("%q became\n%q, want\n%q", c.text, got, c.want)
		}
	}
}

func TestYAML(t *testing.T) {
	got, err := YAML([]byte(`
# the password is hunter2
flowstore: {store: {password: hunter2, password_file: pw, username: ann}}
users:
  - {name: ann, secret: [a, b]}
web_token: |
  two
  lines
key: "-----BEGIN PRIVATE KEY-----\nMHcC\n-----END PRIVATE KEY-----"
`), []string{"ofafile"})
	if err != nil {
		t.Fatal(err)
	}
	want := `flowstore:
  store:
    password: (removed)
    password_file: pw
    username: ann
users:
- name: ann
  secret: (removed)
web_token: (removed)
key: |-
  (removed)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := YAML([]byte("password: [hunter2"), nil); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a file that is no YAML: %v", err)
	}
}
