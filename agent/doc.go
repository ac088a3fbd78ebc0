// Package agent is the loop that lets a model work on one task: it sends the
// history, runs the tools that the answer calls, and ends with one stop reason
// of a closed set.
//
// It knows a model, a box and a journal only by the interfaces below and writes
// down every step when it happens. What the model does wrong is told to the
// model, counted and bounded; what our side does wrong ends the attempt as
// invalid, or as an error where nothing can be recorded any more.
package agent
