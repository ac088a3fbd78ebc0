package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// state is everything that belongs to the process: nothing else in the program
// reads its arguments, environment, standard streams or signals.
type state struct {
	args    []string // without the program's name
	getenv  func(string) string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	now     func() time.Time
	signals func() (<-chan os.Signal, func()) // interrupts, and how to stop listening
}

func processState() state {
	return state{
		args: os.Args[1:], getenv: os.Getenv,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		now: time.Now,
		signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 2)
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			return c, func() { signal.Stop(c) }
		},
	}
}
