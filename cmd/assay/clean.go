package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/sandbox/docker"

	"github.com/spf13/cobra"
)

// cleanTime bounds the whole of a clean.
const cleanTime = 2 * time.Minute

func newCleanCommand(s state) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove boxes that dead runs left behind",
		Long: `Removes the containers of runs that ended without removing them. A run does
this itself when it starts; nothing needs it unless a machine crashed. Boxes of
runs that are alive stay. Boxes of another machine or of an earlier boot are
listed, and removed with --all, for whether their runs are alive cannot be seen
from here.
` + exitHelp,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return clean(s, all) },
	}
	c.Flags().BoolVar(&all, "all", false, "also boxes whose runs cannot be seen from here")
	return c
}

func clean(s state, all bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	e, err := docker.Connect(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	boxes, err := e.Boxes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	removed, alive, elsewhere := 0, 0, 0
	for _, b := range boxes {
		switch {
		case b.Owner == docker.OwnerAlive:
			alive++
			continue
		case b.Owner == docker.OwnerElsewhere && !all:
			elsewhere++
			fmt.Fprintf(s.stdout, "%.12s  %s, %s since %s: its run cannot be seen from here; --all removes it\n",
				b.ID, b.Purpose, b.State, b.Created.Format(time.DateTime))
			continue
		}
		if err := e.Remove(ctx, b); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	fmt.Fprintf(s.stdout, "removed %s; left %d of live runs, %d of runs that cannot be seen from here\n",
		count(removed, "box", "boxes"), alive, elsewhere)
	return errors.Join(errs...)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
