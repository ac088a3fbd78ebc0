// Package tasks holds what is asked: one folder per task in the Harbor layout,
// embedded, with a loader that lists all faults of a folder at once and a renderer
// that makes a bench.Task of it.
//
//	ledger/
//	  task.toml                Harbor's keys; ours under [metadata.assay]
//	  instruction.md           exact prompt; its numbered clauses are what checks refer to
//	  environment/Dockerfile   image of the task, for other runners
//	  environment/workspace/   starting files
//	  solution/                reference files, and solve.sh that copies them
//
// Embedding loses file modes, so modes on disk are not read either: a file named
// *.sh is executable, no other is.
package tasks
