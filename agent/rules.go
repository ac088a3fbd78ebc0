package agent

import "time"

// scaffoldVersion counts changes of what a model is shown or how it is treated
// that neither the texts nor the numbers below show, such as the sentences of the
// tools' answers.
const scaffoldVersion = 2

// The numbers that shape the loop. They are part of the scaffold digest.
const (
	maxReasoningOnly  = 3  // turns in a row of nothing but reasoning
	maxEmpty          = 3  // responses in a row that hold nothing
	sameCallRun       = 6  // equal call with equal answer, one after the other
	staleTurnRun      = 10 // turns in a row that repeat earlier calls and answers
	maxCallsPerTurn   = 32 // further calls of a turn are answered, not run
	maxCommandBytes   = 96 << 10
	maxStreamBytes    = 64 << 20 // of a command's stdout or stderr, then it is killed
	maxReadBytes      = 4 << 20
	maxListEntries    = 1000
	engineRetries     = 2           // of infrastructure faults, per request
	attemptRetries    = 10          // of infrastructure faults, per attempt
	maxLowered        = 4           // smaller max_tokens that are tried in one request
	minAnswer         = 256         // tokens; fewer are not asked for where a server refuses more
	longSilence       = time.Minute // without a byte when the task time ends: the engine is lost
	quickBackoff      = time.Second
	slowBackoff       = 15 * time.Second // server busy: rate limit, loading
	backoffFactor     = 4
	maxServerWait     = 2 * time.Minute // longest Retry-After that is honoured
	boxPatience       = 30 * time.Second
	journalPatience   = time.Minute
	maxIDBytes        = 64
	maxQuoted         = 200 // bytes of model text repeated in a message
	maxNamedLines     = 5   // of the places where a text occurs
	markReserve       = 64  // bytes for the mark that says how much was left out
	answerReserve     = 128 // bytes for the words of run around the streams
	workspaceInBox    = "/w"
	commandSearchPath = "/usr/bin:/bin"
)

const systemPrompt = `You are a software engineer working alone in a workspace of files.
You are given one task. Do it by calling the tools; nobody can answer questions.

- Start by looking at the files. All paths are relative to the workspace; commands start in it.
- There is no network. A command that runs too long is ended, and long output is shortened in the middle.
- Follow the task text exactly, also where it names files, messages, exit codes and formats.
- Check your work by running it before you hand it over.
- When the work is done, call submit. Only the files in the workspace are judged, not what you write in messages.`

const reminderText = `Your last message had no tool call. If the work is done, call submit. ` +
	`If it is not, go on with a tool call. Another message without a tool call hands the work over as it is.`

const reasoningOnlyText = `Your last turn held only reasoning: no message and no tool call. ` +
	`Go on with a tool call, or call submit if the work is done.`

const emptyText = `Your last turn was empty. Go on with a tool call, or call submit if the work is done.`

const unparsableText = `The server could not read your last turn: its tool call was not in the expected format, so nothing was run. ` +
	`Make the call again, with arguments that are one JSON object.`

// placeholder stands in the history for a turn without anything to show: chat
// templates refuse an empty assistant message and two user messages in a row.
const placeholder = `(no message)`

// commandEnv is the whole environment of a tool command, the same that candidate
// processes get when they are judged.
func commandEnv() []string {
	return []string{"PATH=" + commandSearchPath, "LANG=C.UTF-8", "HOME=/tmp"}
}
