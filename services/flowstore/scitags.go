package flowstore

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/millrace/millrace/internal/scitags"
	"github.com/millrace/millrace/internal/store"
)

// SciTagsConfiguration is what is known of tags beside what flows have.
type SciTagsConfiguration struct {
	// Registry is a file with the names of communities and activities, as https://www.scitags.org/api.json has them,
	// relative to this file. Default none: their numbers stand for them.
	Registry string `yaml:"registry"`
	// LabelSources are the IPv6 networks of hosts that mark their packets. Labels of other hosts are random and say
	// nothing. Default none.
	LabelSources []string `yaml:"label_sources"`
}

// Validate rejects invalid values; its error names a valid one.
func (s SciTagsConfiguration) Validate() error {
	for _, text := range s.LabelSources {
		if p, err := netip.ParsePrefix(text); err != nil || p != p.Masked() || p.Addr().Unmap().Is4() {
			return fmt.Errorf("label source %q: want an IPv6 network, such as 2001:db8::/32", text)
		}
	}
	return nil
}

// registry reads the file of names.
func (s SciTagsConfiguration) registry() (*scitags.Registry, error) {
	if s.Registry == "" {
		return &scitags.Registry{}, nil
	}
	raw, err := os.ReadFile(s.Registry)
	if err != nil {
		return nil, fmt.Errorf("registry of SciTags, as https://www.scitags.org/api.json has it: %w", err)
	}
	return scitags.ParseRegistry(raw)
}

// labelled is the condition that a record's flow label is a tag.
func (s SciTagsConfiguration) labelled() (string, error) {
	networks := []string{"0"}
	for _, text := range s.LabelSources {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return "", err
		}
		address, err := store.Literal(p.Addr())
		if err != nil {
			return "", err
		}
		networks = append(networks, fmt.Sprintf("IPv6CIDRToRange(src, %d).1 = %s", p.Bits(), address))
	}
	return "(" + strings.Join(networks, " OR ") + ")", nil
}
