package main

import (
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes no time and no number of its own, so that a release can be built again octet by octet.
func writeSBOM(w io.Writer, info *debug.BuildInfo, modules []module) error {
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, Name: path.Base(info.Path), Version: info.Main.Version, BOMRef: info.Path,
		PackageURL: "pkg:golang/" + info.Main.Path, Licenses: licences([]string{"Apache-2.0"}),
	}}
	var components []cyclonedx.Component
	var refs []string
	for _, m := range modules {
		url := fmt.Sprintf("pkg:golang/%s@%s", m.path, m.version)
		components = append(components, cyclonedx.Component{
			Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version, BOMRef: url, PackageURL: url, Licenses: licences(m.licences),
		})
		refs = append(refs, url)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: info.Path, Dependencies: &refs}}
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func licences(ids []string) *cyclonedx.Licenses {
	var out cyclonedx.Licenses
	for _, id := range ids {
		out = append(out, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &out
}

func writeLicences(w io.Writer, modules []module) error {
	_, err := fmt.Fprint(w, "Millrace is under the Apache License 2.0. Its binary is linked from the modules below, each under its own licence.\n")
	for _, m := range modules {
		if err == nil {
			_, err = fmt.Fprintf(w, "\n%s\n%s %s: %s\n", strings.Repeat("=", 80), m.path, m.version, strings.Join(m.licences, ", "))
		}
		for _, t := range m.texts {
			if err == nil {
				_, err = fmt.Fprintf(w, "\n--- %s\n\n%s\n", t.name, strings.TrimSpace(string(t.raw)))
			}
		}
	}
	return err
}
