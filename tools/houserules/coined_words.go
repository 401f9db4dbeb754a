package houserules

import "regexp"

// coinage is a word of this house, and the standard one.
type coinage struct {
	word     *regexp.Regexp
	standard string
}

// coinedWords are words of this house that the field does not know, each with
// the standard word. A row is added when the last place that says it is gone.
var coinedWords = []coinage{
	{regexp.MustCompile(`(?i)front door`), "API gateway"},
	{regexp.MustCompile(`(?i)data[- ]quality`), "exporter health, or collection quality"},
	{regexp.MustCompile(`(?i)how far .* trusted`), "exporter health"},
	{regexp.MustCompile(`(?i)\b(the|last|one|a|this|its|every|next|per) night(\b[^ly]|'s|$)|\bof nights\b|\bnight after night\b`), "nightly run"},
	{regexp.MustCompile(`(?i)drop curves?\b`), "drop profile"},
	{regexp.MustCompile(`(?i)\b(go(es)?|went|going) back (to what|by (it|them)sel(f|ves))|\brouter (goes|went) back\b|\bcannot go back\b`), "rolls back, or rolls back on its timer"},
	{regexp.MustCompile(`(?i)queue's fill\b`), "queue occupancy, or fill level"},
	{regexp.MustCompile(`(?i)nobody attaches|router attaches`), "originates (a prefix)"},
	{regexp.MustCompile(`\bpeers\.(NAME|[a-z]+ is)`), "endpoints"},
	{regexp.MustCompile(`(?i)packets' departure`), "earliest departure time (EDT)"},
	{regexp.MustCompile(`\bnumberer\b`), "ID allocator"},
	{regexp.MustCompile(`\bworthIt\b`), "minRateChange"},
	{regexp.MustCompile(`(?i)asks, stores and says`), "queries, persists and reports"},
	{regexp.MustCompile(`(?i)who(ever)? lacks`), "a flow below its share"},
	{regexp.MustCompile(`(?i)nobody's value`), "unused result"},
	{regexp.MustCompile(`(?i)answers to nothing`), "does not react to"},
	{regexp.MustCompile(`(?i)lives? of the excess`), "borrows from the parent"},
	{regexp.MustCompile(`(?i)is dearer`), "costs more"},
	{regexp.MustCompile(`(?i)\b(taken|takes?|took|taking) (it |them |that |this |itself )?back\b([^g]|$)`), "rolls back, undoes, or withdraws"},
	{regexp.MustCompile(`(?i)in the words of|\b(vendor|OpenConfig|FRR|tc)'s words\b|\bJunos'(s)? words\b|\b(router|vendor)'s own words\b`), "as commands, syntax or configuration of"},
	{regexp.MustCompile(`(?i)\bshould hold\b|\brouters? (that )?(do(es)? not )?holds? (again )?what|\bwhat (it|they) held\b`), "intended or running config"},
	{regexp.MustCompile(`(?i)\bshall\b`), "should, is to, or must (RFC 2119)"},
	{regexp.MustCompile(`(?i)\bunplaced\b|cannot be placed|\bplac(e|es|ed|ing) (a|the|its|every|each|all) pairs?\b|\bpairs? (is|are|was|were) placed\b`), "unmapped, or cannot be mapped"},
	{regexp.MustCompile(`(?i)\bforeign (scheduler|router|config|binding)`), "unmanaged"},
	{regexp.MustCompile(`(?i)\bthe line('s rate| is full| less)|(fills?|overloads) the line\b|\d+ % of (the|a) line\b|\bshare a line\b|\bwhat its line\b|\b(below|share of|rate of) (its|the) line\b`), "port speed, link, or link rate"},
	{regexp.MustCompile(`(?i)\bthe ways differ|\bby way of\b|\b(disjoint|equal-cost|several|short|long|shortest) ways?\b|\b(the|a) way round\b`), "path, detour, or via"},
	{regexp.MustCompile(`(?i)(^|[^"])\bpacket-level (forwarding|spreading)|\bsprayed\b|\bspray-|\b(spraying|spray) packets\b`), "per-packet load balancing (packet spraying, named once)"},
	{regexp.MustCompile(`(?i)\bflow-level forwarding`), "per-flow load balancing"},
	{regexp.MustCompile(`(?i)\b(a|the|its|one|each|every|which|both) lanes?\b`), "link direction"},
	{regexp.MustCompile(`(?i)configuration units?\b|\binto units\b`), "config entry"},
	{regexp.MustCompile(`(?i)\bwho(so|m)?ever\b`), "the actor's name: client, operator, caller, process"},
	{regexp.MustCompile(`\b(is|are|was|were|be|been|being|nobody|anybody) told\b|\btold (of|by|about|apart)\b`),
		"reported, notified, logged, sent, distinguished, or raises an event"},
	{regexp.MustCompile(`(?i)\b(its|the|a|one's|their) way back\b`), "return path, or rollback"},
	{regexp.MustCompile(`\b(tells|telling|told) whether\b|\btells of (each|every)\b`), "reports whether, as in all doc comments of Go"},
	{regexp.MustCompile(`(?i)\bmakes? no sense\b`), "invalid, out of range, or not plausible: name the check"},
	{regexp.MustCompile(`(?i)\basks? (the kernel|etcd)\b`), "reads, queries, requests or calls"},
	{regexp.MustCompile(`(?i)\bwhat (it|they) (is|are|was|were) asked\b`), "the request"},
	{regexp.MustCompile(`(?i)\bit is said\b|\band said so\b`), "reports, logs, or prints, with its subject"},
	{regexp.MustCompile(`(?i)\bby (its|their) own word\b`), "as it reports"},
	{regexp.MustCompile(`\b(host|port|sender|interface)'s (own )?line\b|\b(the|a) line (carries|it finds|takes)\b|\bfill(s|ed)? the line\b|\bthe line empty\b|\btwice the line\b`),
		"port, link, or link rate"},
	{regexp.MustCompile(`\bby (the )?fill (of|in)\b|\bthe fill of\b`), "queue occupancy, or fill level"},
}

// coinedNames are such words in declared names, which are read as sentences: takeBack is "take Back". In prose they
// have other senses: on the way, at night.
var coinedNames = append([]coinage{
	{regexp.MustCompile(`(?i)^ ?ways?$|^ ?way (flags|change|code|text|of)$|^ ?(check|offer|print|print offered|next) ways?$`), "path, or direction"},
	{regexp.MustCompile(`^ Nights?$|(?i)\b(same|next|regular|two|print|await|check) nights?\b`), "nightly run"},
	{regexp.MustCompile(`(?i)\bgoes? back\b`), "rolls back"},
	{regexp.MustCompile(`(?i)^ ?lanes?$`), "link direction, or stripe"},
	{regexp.MustCompile(`(?i)\b(is|are|be|never|nobody) told\b|\btold of\b`), "reported, notified, or logged"},
}, coinedWords...)
