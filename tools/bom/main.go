// Command bom says what a binary of Millrace is linked from, and under which licences.
//
//	go run ./tools/bom --binary bin/millrace --sbom millrace.cdx.json --licences LICENCES
//
// In: what Go records in the binary, and the modules' own files of licences.
// Out: a bill of materials (CycloneDX 1.6, JSON) and the text of every licence. The same binary gives the same octets.
// A licence that must not be linked, or a module without one, is an error.
// Next: make release, the Debian packages and the image.
package main

import (
	"debug/buildinfo"
	"flag"
	"fmt"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bom: ")
	binary := flag.String("binary", "", "binary to read")
	sbom := flag.String("sbom", "", "bill of materials to write")
	licences := flag.String("licences", "", "file for the text of every licence")
	flag.Parse()
	if err := run(*binary, *sbom, *licences); err != nil {
		log.Fatal(err)
	}
}

func run(binary, sbom, licences string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	modules, err := linked(info)
	if err != nil {
		return err
	}
	if err := judge(modules); err != nil {
		return err
	}
	if sbom != "" {
		if err := writeTo(sbom, func(f *os.File) error { return writeSBOM(f, info, modules) }); err != nil {
			return err
		}
	}
	if licences != "" {
		return writeTo(licences, func(f *os.File) error { return writeLicences(f, modules) })
	}
	return nil
}

func writeTo(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Close()
}
