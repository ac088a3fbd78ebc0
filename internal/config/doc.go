// Package config turns the bytes of a study file into a Study, or into the list
// of everything that is wrong with it. It reads no file, no environment and no
// clock: the same bytes give the same answer.
//
// The way of one file:
//
//	bytes -> checks of the whole file (size, UTF-8) -> tree with line numbers
//	      -> one reader per table (types, ranges, unknown keys, origins)
//	      -> checks across tables -> Study, or Faults
//
// A faulty value is replaced by its default for the rest of the way, so that
// one fault neither hides another nor causes a second message.
package config
