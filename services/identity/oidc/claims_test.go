package oidc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rights"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// claimsOf are those of a good id_token of ann for the client millrace, changed; null removes a claim.
func claimsOf(t *testing.T, change string) claims {
	t.Helper()
	all := map[string]any{
		"iss": "https://idp.example.net", "sub": "s-ann", "aud": "millrace", "exp": noon.Add(time.Minute).Unix(), "iat": noon.Unix(), "nonce": "n",
		"preferred_username": "ann", "groups": []string{"noc"},
	}
	d := json.NewDecoder(strings.NewReader("{" + change + "}"))
	d.UseNumber()
	changes := map[string]any{}
	if err := d.Decode(&changes); err != nil {
		t.Fatal(err)
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(d time.Duration) string { return fmt.Sprint(noon.Add(d).Unix()) }

func TestIDTokens(t *testing.T) {
	for name, tt := range map[string]struct{ change, says string }{
		"as it should be":           {``, ""},
		"no subject":                {`"sub": null`, "no subject"},
		"an empty subject":          {`"sub": ""`, "no subject"},
		"a subject that is no text": {`"sub": 5`, "no subject"},
		"no end":                    {`"exp": null`, "no exp"},
		"an end that is a text":     {`"exp": "9999999999"`, "no exp"},
		"an end beyond all clocks":  {`"exp": 1e300`, "no exp"},
		"no beginning":              {`"iat": null`, "no exp or no iat"},
		"our clock is not quite five minutes ahead":  {`"exp": ` + at(-Skew+time.Second), ""},
		"our clock is five minutes ahead":            {`"exp": ` + at(-Skew), "expired at"},
		"our clock is five minutes behind":           {`"iat": ` + at(Skew) + `, "exp": ` + at(2*Skew), ""},
		"our clock is more than five minutes behind": {`"iat": ` + at(Skew+time.Second) + `, "exp": ` + at(2*Skew), "compare the clocks"},
		"not before, five minutes behind":            {`"nbf": ` + at(Skew), ""},
		"not before, more than five minutes behind":  {`"nbf": ` + at(Skew+time.Second), "compare the clocks"},
		"another nonce": {`"nonce": "m"`, "nonce"},
		"no nonce":      {`"nonce": null`, "nonce"},
		"this client among others, and issued to it":  {`"aud": ["other", "millrace"], "azp": "millrace"`, ""},
		"this client among others, issued to another": {`"aud": ["other", "millrace"], "azp": "other"`, "azp"},
		"this client among others, issued to nobody":  {`"aud": ["other", "millrace"]`, "azp"},
		"issued to another":                           {`"azp": "other"`, "azp"},
		"a party that is no text":                     {`"azp": 1`, "azp"},
	} {
		err := claimsOf(t, tt.change).check("millrace", "n", noon)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
	if err := claimsOf(t, `"nonce": null`).check("millrace", "", noon); err != nil {
		t.Errorf("a refreshed id_token without a nonce: %v", err)
	}
}

func TestGroups(t *testing.T) {
	for name, tt := range map[string]struct {
		claim, change string
		want          []string
		says          string
	}{
		"a list":                      {"groups", `"groups": ["a", "b"]`, []string{"a", "b"}, ""},
		"one":                         {"groups", `"groups": "a"`, []string{"a"}, ""},
		"none":                        {"groups", `"groups": []`, nil, ""},
		"nothing":                     {"groups", `"groups": null`, nil, ""},
		"inside another":              {"realm_access.roles", `"realm_access": {"roles": ["a"]}`, []string{"a"}, ""},
		"inside what is none":         {"realm_access.roles", `"realm_access": ["roles"]`, nil, ""},
		"a URL with dots":             {"https://example.net/groups", `"https://example.net/groups": ["a"]`, []string{"a"}, ""},
		"numbers":                     {"groups", `"groups": [1]`, nil, "no text"},
		"an object":                   {"groups", `"groups": {"a": true}`, nil, "no list"},
		"too many, elsewhere":         {"groups", `"groups": null, "_claim_names": {"groups": "src1"}`, nil, "too many groups"},
		"too many, said otherwise":    {"groups", `"groups": null, "hasgroups": true`, nil, "too many groups"},
		"another claim is elsewhere":  {"groups", `"groups": ["a"], "_claim_names": {"address": "src1"}`, []string{"a"}, ""},
		"some of too many are no all": {"groups", `"groups": ["a"], "_claim_names": {"groups": "src1"}`, nil, "too many groups"},
	} {
		cfg := DefaultConfiguration()
		cfg.GroupsClaim = tt.claim
		who, err := claimsOf(t, tt.change).person(cfg)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || !slices.Equal(who.Groups, tt.want) {
			t.Errorf("%s: %v %v, want %v %q", name, who.Groups, err, tt.want, tt.says)
		}
	}
}

// What the id_token says counts, and userinfo is of its subject.
func TestUserinfo(t *testing.T) {
	token := claimsOf(t, `"groups": null, "preferred_username": null`)
	cfg := DefaultConfiguration()
	if token.complete(cfg) || !claimsOf(t, `"groups": []`).complete(cfg) {
		t.Error("it is asked for what is there, or not for what is not")
	}
	whole, err := token.with(claims{"sub": "s-ann", "iss": "https://evil.example", "groups": []any{"noc"}, "preferred_username": "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if who, err := whole.person(cfg); err != nil || who.Name != "ann" || who.Issuer != "https://idp.example.net" || !slices.Equal(who.Groups, []string{"noc"}) {
		t.Errorf("%+v %v", who, err)
	}
	for _, other := range []claims{{"sub": "s-bob"}, {}, {"sub": []any{"s-ann"}}} {
		if _, err := token.with(other); err == nil {
			t.Errorf("userinfo of %v is taken", other["sub"])
		}
	}
	if _, err := token.person(cfg); err == nil || !strings.Contains(err.Error(), "preferred_username") {
		t.Errorf("a person without a name: %v", err)
	}
}

func TestTheHighestRoleCounts(t *testing.T) {
	c := Configuration{Roles: map[string]string{"a": "viewer", "b": "admin", "c": "approver"}}
	for want, groups := range map[rights.Role][]string{rights.Nobody: {"x", "A", ""}, rights.Viewer: {"x", "a"}, rights.Approver: {"c", "a"}, rights.Admin: {"a", "b", "c"}} {
		if got, limits := rights.GrantsOf(c.Grants(groups)); max(got, rights.Nobody) != want || limits != nil {
			t.Errorf("%v: %s for %v, want %s", groups, got, limits, want)
		}
	}
}

func TestTheOrderOfTheGroupsIsNoMatter(t *testing.T) {
	c := Configuration{Roles: map[string]string{"a": "viewer", "b": "approver"}}
	if one, other := c.Grants([]string{"a", "b"}), c.Grants([]string{"b", "a"}); len(one) != 2 || !reflect.DeepEqual(one, other) {
		t.Errorf("%v and %v", one, other)
	}
}

func TestConfigurationSaysWhatToWrite(t *testing.T) {
	good := DefaultConfiguration()
	good.Issuer, good.ClientID, good.ClientSecretFile, good.Roles = "https://idp.example.net", "millrace", "secret", map[string]string{"noc": "viewer"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := DefaultConfiguration().Validate(); err != nil {
		t.Errorf("no provider: %v", err)
	}
	for says, spoil := range map[string]func(*Configuration){
		"issuer is missing":               func(c *Configuration) { c.Issuer = "" },
		`issuer is "idp"`:                 func(c *Configuration) { c.Issuer = "idp" },
		`issuer is "https://a?b"`:         func(c *Configuration) { c.Issuer = "https://a?b" },
		"write https":                     func(c *Configuration) { c.Issuer = "http://idp.example.net" },
		`issuer is "ftp://127.0.0.1"`:     func(c *Configuration) { c.Issuer = "ftp://127.0.0.1" },
		"client_id or client_secret_file": func(c *Configuration) { c.ClientSecretFile = "" },
		"scopes must have openid":         func(c *Configuration) { c.Scopes = []string{"profile"} },
		"must not be empty":               func(c *Configuration) { c.NameClaim = "" },
		"roles is empty":                  func(c *Configuration) { c.Roles = nil },
		`roles: "noc" is "root"`:          func(c *Configuration) { c.Roles = map[string]string{"noc": "root"} },
		`roles: "" is "viewer"`:           func(c *Configuration) { c.Roles = map[string]string{"": "viewer"} },
		`limits: "noc" names no`:          func(c *Configuration) { c.Limits = map[string]rights.Scope{"noc": {}} },
		`limits: "x" has no role`:         func(c *Configuration) { c.Limits = map[string]rights.Scope{"x": {Routers: []string{"a"}}} },
		"is no pattern of names":          func(c *Configuration) { c.Limits = map[string]rights.Scope{"noc": {VPNs: []string{"["}}} },
		"the role admin has no scope": func(c *Configuration) {
			c.Roles, c.Limits = map[string]string{"noc": "admin"}, map[string]rights.Scope{"noc": {VPNs: []string{"a"}}}
		},
		"recheck must be at least 1m": func(c *Configuration) { c.Recheck = time.Second },
		"grace not less than recheck": func(c *Configuration) { c.Grace = time.Minute },
	} {
		c := good
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	local := good
	local.Issuer = "http://127.0.0.1:8081"
	if err := local.Validate(); err != nil {
		t.Errorf("on the loopback: %v", err)
	}
	local.RelativeTo("/etc/millrace")
	if local.ClientSecretFile != "/etc/millrace/secret" || local.CA != "" {
		t.Errorf("%+v", local)
	}
}
