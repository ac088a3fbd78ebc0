// Package plan turns a study into the cells to be run, in the order in which
// they are run. It is pure: no clock, no files, no randomness, so that the same
// study, tasks and scaffold give the same plan, byte for byte.
package plan
