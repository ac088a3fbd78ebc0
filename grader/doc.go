// Package grader judges a frozen candidate by a fixture: candidate + fixture ->
// grading. It knows no model and no store.
//
// A grading has three parties. The judge process, in a box of its own, holds the
// acceptance tests and decides each check. Candidate processes run in the
// candidate's box, which holds nothing else. The host, this package, relays and
// validates every frame between them, keeps the clocks and alone says what the
// verdict is: it accepts the frozen check ids in their order, each once, closed by
// an end frame with the count and a nonce that no candidate can know.
//
// Between checks the candidate's box is swept and its tree laid anew.
package grader
