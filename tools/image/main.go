// Command image writes a container image without a builder and without a registry.
//
//	go run ./tools/image --root out/image/rootfs --date 2026-11-23T20:00:00Z --tag millrace:0.1.0 --output m.tar
//
// In: a folder with the image's root file system (deploy/image/rootfs.sh).
// Out: an archive as docker save writes it, which docker load, podman load and ctr images import read. The same folder
// and the same flags give the same octets: names are sorted, owners and modes are set, all times are the commit's.
// Next: make image, make release, and the cluster that make k8s starts.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")
	o := options{}
	flag.StringVar(&o.root, "root", "", "folder with the root file system")
	flag.StringVar(&o.tag, "tag", "", "name and tag of the image")
	flag.StringVar(&o.version, "version", "", "version, for the image's labels")
	flag.StringVar(&o.commit, "commit", "", "commit, for the image's labels")
	flag.StringVar(&o.platform, "platform", "amd64", "processor: amd64 or arm64")
	flag.StringVar(&o.output, "output", "", "archive to write")
	date := flag.String("date", "", "time of everything in the image, RFC 3339: the commit's")
	flag.Parse()
	if o.tag == "" {
		log.Fatal("--tag is missing: such as millrace:0.1.0, which the chart asks for")
	}
	var err error
	if o.date, err = time.Parse(time.RFC3339, *date); err != nil {
		log.Fatalf("--date: %v", err)
	}
	digest, err := write(o)
	if err != nil {
		log.Fatal(err)
	}
	s, err := os.Stat(o.output)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("image: %s, %s, %d MB, %s\n", o.output, o.tag, s.Size()>>20, digest)
}
