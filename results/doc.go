// Package results is the record: one SQLite file that holds plans, attempts,
// responses, steps, candidates, gradings and events of one cohort or many.
// docs/schema.md explains its tables.
//
// Rows are inserted and never updated or deleted; triggers refuse both. One
// Store writes a file at a time, held by a lock beside it; any number of Readers
// read meanwhile. A write that a method returned nil for survives a kill of the
// process at the next instant.
package results
