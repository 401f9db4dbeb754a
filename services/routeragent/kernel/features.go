package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrMissing marks a feature that a configuration needs and this kernel lacks.
var ErrMissing = errors.New("this kernel lacks a feature")

// UnsupportedFeatureError names a feature that the kernel lacks. It is an ErrMissing.
type UnsupportedFeatureError struct {
	// Feature is one of the names below.
	Feature string
	// MinimumVersion is the first Linux release with the feature; empty if unknown.
	MinimumVersion string
	// Cause is what the kernel answered.
	Cause error
}

// Error says what is missing and from which release on it is there.
func (e *UnsupportedFeatureError) Error() string {
	if e.MinimumVersion == "" {
		return fmt.Sprintf("%s is not supported by this kernel: %v", e.Feature, e.Cause)
	}
	return fmt.Sprintf("%s is not supported by this kernel (needs Linux %s or later, built with it): %v", e.Feature, e.MinimumVersion, e.Cause)
}

// Unwrap leads to ErrMissing and to what the kernel answered.
func (e *UnsupportedFeatureError) Unwrap() []error { return []error{ErrMissing, e.Cause} }

// Names of features.
const (
	FeatureHTB  = "htb"
	FeatureBPF  = "bpf classifier"
	FeatureMPLS = "mpls"
	FeatureSRv6 = "srv6"
	FeatureRED  = "red"
	FeatureWRED = "gred"
	// FeatureVXLAN is a device that has many tunnels.
	FeatureVXLAN = "vxlan"
)

// minimumVersions are the releases that brought features; those of queue disciplines are in leafKinds.
var minimumVersions = map[string]string{
	FeatureBPF:   "5.3",  // loops that the verifier bounds
	FeatureMPLS:  "4.3",  // routes that push labels
	FeatureSRv6:  "4.10", // encap seg6
	FeatureVXLAN: "6.0",  // local_ipv4 of bpf_tunnel_key
}

// Features are the features that Probe tried; nil means that the kernel has it, else it is an *UnsupportedFeatureError.
type Features map[string]error

// tried records the outcome of trying a feature.
func (f Features) tried(name, minimum string, err error) {
	f[name] = nil
	if err != nil {
		f[name] = &UnsupportedFeatureError{Feature: name, MinimumVersion: minimum, Cause: err}
	}
}

// Missing lists the features that the kernel lacks.
func (f Features) Missing() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if f[name] != nil {
			out = append(out, f[name].Error())
		}
	}
	return out
}

// Require reports whether the kernel has every feature that a spec needs.
func (f Features) Require(s Spec) error {
	need := map[string]bool{
		FeatureHTB:   len(s.Ports) > 0,
		FeatureBPF:   len(s.Ports)+len(s.Bindings)+len(s.Policers)+len(s.Circuits) > 0,
		FeatureMPLS:  len(s.Paths) > len(s.Segments),
		FeatureSRv6:  len(s.Segments) > 0,
		FeatureVXLAN: len(s.Circuits) > 0,
	}
	for _, p := range s.Ports {
		for _, q := range p.Queues {
			need[q.leaf().name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		if err := f[name]; need[name] && err != nil {
			return err
		}
	}
	return nil
}
