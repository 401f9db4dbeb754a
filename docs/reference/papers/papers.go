// Package papers holds the scoreboard's results that are committed, so that
// every binary can show them.
//
// In: what `millrace papers --page docs/reference/papers` wrote beside this
// file. Out: the files. Next: services/dashboard.
package papers

import "embed"

// Files are a JSON file per experiment and the plots it names; without a run there are none.
//
//go:embed *
var Files embed.FS
