package detect

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// idLength in base32 characters is 60 bits: among 100,000 pairs the chance that
// any two share an id is 1 in 200 million.
const idLength = 12

// ID is the pair's stable name, fit for a device: "p" and the first characters
// of the base32 of the SHA-256 of "exporter source destination".
func (k Key) ID() string {
	sum := sha256.Sum256([]byte(k.Exporter.String() + " " + k.Prefixes.Src.String() + " " + k.Prefixes.Dst.String()))
	return "p" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:idLength]
}
