package tree

import "testing"

// BenchmarkLoad makes the schema of the table, which an agent does once in its life, at its start.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if load().Children["qos"] == nil {
			b.Fatal("no qos")
		}
	}
}
