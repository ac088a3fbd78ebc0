// Package wiretest reads recorded HTTP answers for tests: a tree of files
// FOLDER/NAME.http (status line, headers, blank line, body) and
// FOLDER/NAME.timed.jsonl (every socket read with its time), lying as plain files
// or in an archive named *.tar.zst.
package wiretest
