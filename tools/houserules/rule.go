package houserules

// Rule is one thing this repository keeps to.
type Rule struct {
	Name string
	// Why is the reason, printed with each violation.
	Why string
	// Check returns one line per violation.
	Check func(*Tree) []string
}

// Rules are all of them.
func Rules() []Rule {
	return []Rule{
		{
			"every package says what comes in, what goes out and who is next",
			"a reader follows the data from package to package by these three lines, without opening the code",
			packageComments,
		},
		{
			"the Next lines lead from the collector to the push",
			"the tree must show the data path, and a name in a comment that is gone sends the reader nowhere",
			chain,
		},
		{
			"packages import only what their place in the tree allows",
			"walls keep parts replaceable: what may be run elsewhere or proven alone must not lean on its neighbours",
			walls,
		},
		{
			"every component has the same contract",
			"who knows how one component is configured, made, started and stopped knows it of all of them",
			components,
		},
		{
			"pure cores have no clock, network, file or goroutine",
			"what decides must give the same answer for the same input, or no test, replay or what-if of it means anything",
			pure,
		},
		{
			"each pure package has a mutation score, in its comment too, or the reason why not",
			"a score that stands in two places or in none is believed where it is wrong",
			mutantScores,
		},
		{
			"maps of eBPF programs are written by internal/bpfmap",
			"the kernel answers ENOMEM where it only has no entry ready, and a Set that is refused for that was refused for nothing",
			mapWrites,
		},
		{
			"files of secrets are read by internal/secretfile",
			"a password that one reader takes and another refuses is found out on the day on which it is replaced",
			secretReads,
		},
		{
			"programs that end with this process are started by internal/child",
			"the kernel ends them with the thread that forked them, and threads end with goroutines that were in another network namespace",
			deathSignals,
		},
		{
			"a test spoils a text by letters that it cannot have had",
			"one random text in some hundred ends in those letters, is not spoilt, and fails the test",
			overwritten,
		},
		{
			"files have at most 400 lines",
			"a file is read as a whole; one that is longer usually holds a second idea that deserves its own name",
			size,
		},
		{
			"functions have at most 60 lines",
			"a function is understood at a glance or not at all; what is longer has steps that deserve names",
			functions,
		},
		{
			"at least 90 % of exported names are documented",
			"an exported name is a promise to somebody who will not read its body",
			documented,
		},
		{
			"a doc comment stands above its declaration and begins with its name",
			"a comment that was moved or copied describes something else, and tools and readers believe it",
			docComments,
		},
		{
			"comments are at most 120 columns wide",
			"a reader compares two files side by side, and one width everywhere makes a change of words a small diff",
			commentWidth,
		},
		{
			"comments, pages and commands use the field's words",
			"a network engineer must never have to guess a word",
			coined,
		},
		{
			"commands are summed up by verbs of the field",
			"who looks for a command in a list reads its first word: it is the same for the same thing in all tools",
			commandVerbs,
		},
		{
			"one name everywhere: folder, reference page, command, metric",
			"an operator who sees a name in a log or a metric must find its page and its command without asking",
			oneName,
		},
		{
			"README and decision 10 have every folder",
			"they are the map; a folder that is not on it is found by those alone who know it",
			folders,
		},
		{
			"what the documents name exists",
			"a link, path, test or make target that is gone sends the reader nowhere",
			links,
		},
		{
			"each decision has a number of its own",
			"\"decision 13\" in a page or a commit must name one page",
			decisions,
		},
		{
			"the newcomer's questions are answered three steps from the README",
			"a tree in which one must search explains itself only to those who wrote it",
			questions,
		},
		{
			"no function gives away the port of a listener that it has closed",
			"until somebody listens there again the kernel may give it to any other test or connection; internal/testkit/ports reserves one",
			portsPassedOn,
		},
		{
			"no server starts before the first test",
			"with -json, testing.M.Run exchanges os.Stderr while goroutines of the server read it: a data race, which is put down to any test",
			serversBeforeTests,
		},
		{
			"processes are stopped by internal/testkit/standstill",
			"kill(2) returns before SIGSTOP has stopped every thread, and a broker answers meanwhile what was to wait for it",
			stoppedElsewhere,
		},
		{
			"nobody asks for the folder of a source",
			"builds have -trimpath, so that clones share the build cache: a test that looks beside its source finds nothing, and is skipped",
			sourcePaths,
		},
		{
			"handlers of services have a bound of their requests",
			"one compressed request without it takes all memory of a process that has etcd and ClickHouse in it",
			bounded,
		},
		{
			"tests that boot a lab run one after the other",
			"guests run in real time on one processor; two have half of it each, and the verdict of both is of the machine",
			labs,
		},
		{
			"HTTP servers wait for headers as long as rpc.HeaderPatience",
			"without a wait a stranger holds connections for ever; of a short one net/http answers 400 to honest clients of a slow machine",
			patience,
		},
		{
			"no registry hosts and no paths of somebody's machine",
			"the tree must build wherever it is cloned, from whatever mirror that place uses",
			machines,
		},
		{
			"no work left for later in comments",
			"what is not done belongs into an issue, where somebody looks",
			leftovers,
		},
		{
			"generated files say so",
			"an edit to a generated file is lost with the next run of its generator",
			generated,
		},
		{
			"the licence is there",
			"without it nobody may use any of this",
			licence,
		},
	}
}
