// Package bench holds the nouns of assay as values: arm, cell, attempt,
// response, candidate, check, grading. It imports the standard library only and
// does no I/O, so that every other package can speak in these words without
// knowing the others.
//
// Unknown is a nil pointer, never a zero. Durations measured on a clock of ours
// are time.Duration; figures that an engine reported stay in the engine's unit
// (milliseconds as float64) and say so in their names.
package bench
