package main

import (
	"strings"
	"testing"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func TestTagsAddUpOverExporters(t *testing.T) {
	tag := func(exporter string, community uint32, name string, bytes, byFirefly uint64) *flowv1.TagTraffic {
		return &flowv1.TagTraffic{
			Exporter: exporter, Community: community, CommunityName: name, Activity: 1, ActivityName: "default", Bytes: bytes, FireflyBytes: byFirefly, Records: 2,
		}
	}
	answer := &flowv1.TagTrafficResponse{
		Tags:  []*flowv1.TagTraffic{tag("192.0.2.1", 3, "cms", 400e6, 0), tag("192.0.2.1", 2, "atlas", 300e6, 100e6), tag("192.0.2.2", 2, "atlas", 200e6, 200e6)},
		Bytes: 1000e6,
	}
	for byExporter, want := range map[bool]string{
		false: `EXPORTER  COMMUNITY  ACTIVITY  BYTES     SHARE   BY FIREFLY  RECORDS
all       atlas      default   500.0 MB  50.0 %  300.0 MB    4
all       cms        default   400.0 MB  40.0 %  0.0 MB      2
with a tag: 900.0 MB of 1000.0 MB (90.0 %)
`,
		true: `EXPORTER   COMMUNITY  ACTIVITY  BYTES     SHARE   BY FIREFLY  RECORDS
192.0.2.1  cms        default   400.0 MB  40.0 %  0.0 MB      2
192.0.2.1  atlas      default   300.0 MB  30.0 %  100.0 MB    2
192.0.2.2  atlas      default   200.0 MB  20.0 %  200.0 MB    2
with a tag: 900.0 MB of 1000.0 MB (90.0 %)
`,
	} {
		var out strings.Builder
		if err := printTags(&out, answer, byExporter); err != nil || out.String() != want {
			t.Errorf("by exporter %v: %v\n%s\nwant\n%s", byExporter, err, out.String(), want)
		}
	}
	var out strings.Builder
	if err := printTags(&out, &flowv1.TagTrafficResponse{Bytes: 5e6}, false); err != nil || out.String() != "no flow of this window had a tag; all flows sent 5.0 MB\n" {
		t.Errorf("without tags: %v\n%s", err, out.String())
	}
}
