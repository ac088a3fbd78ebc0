package main

import (
	"context"
	_ "embed"
	"fmt"

	"assay/internal/engine/scripted"

	"github.com/spf13/cobra"
)

//go:embed scripted_example.toml
var scriptedExample string

func newScriptedCommand(s state) *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use:   "scripted FILE.toml",
		Short: "Serve a scripted model in llama.cpp's wire format",
		Long: `Serves the programs of a file as if a model had written them, one address for
each profile of the file. Everything that is measured on it is labelled
simulated. For demos, and for trying what a server does to a run. It prints
each model with its address and serves until it is interrupted. A file:

` + scriptedExample + exitHelp,
		Args: oneArg("program file"),
		RunE: func(_ *cobra.Command, args []string) error { return serveScripted(s, args[0], addr) },
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "loopback address; port 0 takes a free one")
	return c
}

func serveScripted(s state, file, addr string) error {
	profiles, err := scripted.LoadProfiles(file)
	if err != nil {
		return usageError{err}
	}
	out := newProgress(s, false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals, stop := s.signals()
	defer stop()
	for _, p := range profiles {
		server, err := scripted.Serve(ctx, addr, p)
		if err != nil {
			return err
		}
		defer closeServer(server, out)
		fmt.Fprintf(s.stdout, "%s\t%s\n", p.Model, server.URL())
	}
	<-signals
	return nil
}
