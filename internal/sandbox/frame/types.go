package frame

import "fmt"

// Type says what a frame is.
type Type uint8

// Frames of the host.
const (
	TypeBegin Type = iota + 1
	TypePing
	TypeStart
	TypeStdin
	TypeKill
	TypePut
	TypeRead
	TypeWrite
	TypeList
	TypeSweep
	TypeReset
	TypeExport
)

// Frames of the supervisor.
const (
	TypeHello Type = iota + 65
	TypeDone       // a request was done; payload: the bytes of a read
	TypeFail
	TypeEntries
	TypeExported
	TypeStdout
	TypeStderr
	TypeStdinGone // the process reads no more input
	TypeExit
)

// TypeCredit is a frame of both.
const TypeCredit Type = 129

var names = map[Type]string{
	TypeBegin: "begin", TypePing: "ping", TypeStart: "start", TypeStdin: "stdin", TypeKill: "kill", TypePut: "put",
	TypeRead: "read", TypeWrite: "write", TypeList: "list", TypeSweep: "sweep", TypeReset: "reset", TypeExport: "export",
	TypeHello: "hello", TypeDone: "done", TypeFail: "fail", TypeEntries: "entries", TypeExported: "exported",
	TypeStdout: "stdout", TypeStderr: "stderr", TypeStdinGone: "stdin_gone", TypeExit: "exit", TypeCredit: "credit",
}

func (t Type) known() bool { return names[t] != "" }

func (t Type) String() string {
	if s := names[t]; s != "" {
		return s
	}
	return fmt.Sprintf("type %d", uint8(t))
}
