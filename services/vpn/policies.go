package vpn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// library is the folder of policies; files are read at every use.
type library struct{ dir string }

// policy is one file; err is why it cannot be used.
type policy struct {
	file   string
	text   []byte
	parsed vpnshare.File
	err    error
}

// read returns every file of the folder, invalid ones too.
func (l library) read() ([]policy, error) {
	if l.dir == "" {
		return nil, nil
	}
	files, err := fs.Glob(os.DirFS(l.dir), "*.yaml")
	if err == nil && len(files) == 0 {
		_, err = os.Stat(l.dir) // a folder that is missing matches nothing, without an error
	}
	if err != nil {
		return nil, fmt.Errorf("read VPN policies: %w", err)
	}
	var out []policy
	named := map[string]string{}
	for _, file := range files {
		p := policy{file: file}
		if p.text, p.err = os.ReadFile(filepath.Join(l.dir, file)); p.err == nil {
			p.parsed, p.err = vpnshare.Parse(p.text)
		}
		switch name := p.parsed.Policy; {
		case p.err != nil:
		case name == "":
			p.err = errors.New("the policy has no name: add `policy: NAME` to the file")
		case named[name] != "":
			p.err = fmt.Errorf("%s has the name %s, too; rename one", named[name], name)
		default:
			named[name] = file
		}
		out = append(out, p)
	}
	return out, nil
}

func (p policy) usable() error {
	if p.err != nil {
		return fmt.Errorf("policy file %s: %w", p.file, p.err)
	}
	return nil
}

func (p policy) message() *vpnv1.Policy {
	m := &vpnv1.Policy{Name: p.parsed.Policy, Description: p.parsed.Description, Criterion: string(p.parsed.Criterion), File: p.file}
	if p.err != nil {
		m.Error = p.err.Error()
	}
	return m
}

// find returns the policy of a name; without one, the only file there is.
func find(all []policy, name string) (policy, error) {
	if name == "" && len(all) == 1 {
		return all[0], all[0].usable()
	}
	var names []string
	for _, p := range all {
		if p.parsed.Policy == name && name != "" {
			return p, p.usable()
		}
		if err := p.usable(); err != nil {
			names = append(names, err.Error())
			continue
		}
		names = append(names, p.parsed.Policy+" ("+p.file+")")
	}
	switch {
	case len(all) == 0:
		return policy{}, fmt.Errorf("no policy %q: the control plane has no policies; set vpn.dir to a folder with policies", name)
	case name == "":
		return policy{}, fmt.Errorf("there are several policies, %s: choose one with vpn.policy or `millrace vpn weights --policy`", strings.Join(names, ", "))
	}
	return policy{}, fmt.Errorf("no valid policy %q; there is %s", name, strings.Join(names, "; "))
}

// compile turns a policy into weights, with links and routes of the topology if the file lists none. Max-min weights
// are rounded to four digits, so that a small change of the topology does not change them.
func (c *Component) compile(p policy) (vpnshare.Policy, []byte, error) {
	out, err := p.parsed.Compile(c.routes.network(c.lastFlows()))
	if err != nil {
		return out, nil, fmt.Errorf("policy %s: %w", p.file, err)
	}
	hash := sha256.New()
	hash.Write(p.text)
	for _, v := range p.parsed.VPNs {
		if p.parsed.Criterion == vpnshare.MaxMinFair {
			out.Weights[v.Name] = rounded(out.Weights[v.Name])
		}
		fmt.Fprintf(hash, "%s %g\n", v.Name, out.Weights[v.Name])
	}
	return out, hash.Sum(nil), nil
}

func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil || math.IsNaN(r) {
		return v
	}
	return r
}

// followedPolicy is the name of the policy that is followed.
func (c *Component) followedPolicy() string {
	if now := c.inForce(); now.GetPolicy() != "" {
		return now.GetPolicy()
	}
	return c.cfg.Policy
}

// wanted is the policy that the folder has to be followed, compiled, and its hash.
func (c *Component) wanted() (p policy, compiled vpnshare.Policy, digest []byte, err error) {
	all, err := c.library.read()
	if err != nil {
		return p, compiled, nil, err
	}
	if len(all) == 0 {
		return p, compiled, nil, fmt.Errorf("no policy in %s", c.cfg.Dir)
	}
	if p, err = find(all, c.followedPolicy()); err != nil {
		return p, compiled, nil, err
	}
	compiled, digest, err = c.compile(p)
	return p, compiled, digest, err
}

// follow puts the policy's weights in force when its hash has changed. A leader that cannot use its file gives the lead
// away: the lease is renewed by itself, and nobody would follow a policy.
func (c *Component) follow(ctx context.Context) error {
	if c.cfg.Dir == "" {
		return nil
	}
	p, compiled, digest, err := c.wanted()
	if err != nil {
		c.leader.Resign()
		return err
	}
	leads, err := c.leader.Leads(c.loops.Context())
	if err != nil {
		return err
	}
	if !leads {
		c.compare(p, digest)
		return nil
	}
	c.setDigest(digest)
	if now := c.inForce(); now != nil && bytes.Equal(now.GetDigest(), digest) {
		return nil
	}
	reason := "the policy or its network has changed"
	if c.inForce() == nil {
		reason = "the first policy"
	}
	_, err = c.change(ctx, false, func(now *vpnv1.Change) (proposal, error) {
		if now != nil && bytes.Equal(now.GetDigest(), digest) { // another process was faster
			return unchanged(now), nil
		}
		return proposal{by: "policy file " + p.file, reason: reason, policy: p.parsed.Policy, criterion: compiled.Criterion, weights: compiled.Weights, digest: digest}, nil
	})
	return err
}

// compare notes, on a replica that does not lead, the digest that the leader has put in force: what an operator changes
// here is newer than that. A file here that differs is logged once.
func (c *Component) compare(p policy, digest []byte) {
	now := c.inForce()
	if now == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digest = now.GetDigest()
	if bytes.Equal(c.digest, digest) || bytes.Equal(c.ignored, digest) {
		return
	}
	c.ignored = digest
	c.deps.Log.Warn("the policy file here differs from what the replica that leads has put in force; it has no effect", "file", p.file)
}

// apply switches to another policy.
func (c *Component) apply(ctx context.Context, r *vpnv1.ApplyPolicyRequest) (*vpnv1.Change, error) {
	all, err := c.library.read()
	if err != nil {
		return nil, err
	}
	p, err := find(all, r.GetPolicy())
	if err != nil {
		return nil, err
	}
	compiled, digest, err := c.compile(p)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, r.GetDryRun(), func(*vpnv1.Change) (proposal, error) {
		return proposal{by: r.GetBy(), reason: r.GetReason(), policy: p.parsed.Policy, criterion: compiled.Criterion, weights: compiled.Weights, digest: digest}, nil
	})
}

// digestOf is the present hash of the policy of an earlier change.
func (c *Component) digestOf(old *vpnv1.Change) []byte {
	if all, err := c.library.read(); err == nil {
		if p, err := find(all, old.GetPolicy()); err == nil {
			if _, digest, err := c.compile(p); err == nil {
				return digest
			}
		}
	}
	return old.GetDigest()
}

func (c *Component) setDigest(d []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digest = d
}

func (c *Component) policyDigest() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.digest)
}
