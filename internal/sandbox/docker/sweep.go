package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// listTime bounds the question which containers there are.
const listTime = 15 * time.Second

// Left is a container of a box.
type Left struct {
	ID      string
	Purpose string
	State   string // "created", "running", …
	Created time.Time
	Owner   Liveness
}

// list gives the containers with a label; value "" takes every value.
func list(ctx context.Context, cli *client.Client, label, value string) ([]container.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if value != "" {
		label += "=" + value
	}
	r, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", label)})
	if err != nil {
		return nil, wrap(opList, err)
	}
	return r.Items, nil
}

// SweepDead removes boxes whose owner ended on this machine. What cannot be
// removed is an error and keeps no other box.
func (e *Engine) SweepDead(ctx context.Context) error {
	boxes, err := e.Boxes(ctx)
	if err != nil {
		return fmt.Errorf("look for boxes that were left behind: %w", err)
	}
	errs := make([]error, len(boxes))
	var wg sync.WaitGroup
	for i, b := range boxes {
		if b.Owner == OwnerDead {
			wg.Go(func() {
				if err := e.Remove(ctx, b); err != nil {
					errs[i] = fmt.Errorf("remove box %.12s that a dead run left behind: %w", b.ID, err)
				}
			})
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// now is the engine's time.
func (e *Engine) now() time.Time { return time.Now().Add(e.clock) }

// Boxes lists the containers of boxes that the engine has, of whatever owner.
func (e *Engine) Boxes(ctx context.Context) ([]Left, error) {
	host, err := hostID()
	if err != nil {
		return nil, err
	}
	all, err := list(ctx, e.cli, labelBox, "")
	if err != nil {
		return nil, err
	}
	var boxes []Left
	for _, c := range all {
		boxes = append(boxes, Left{
			ID: c.ID, Purpose: c.Labels[labelBox], State: string(c.State), Created: time.Unix(c.Created, 0).UTC(), Owner: judge(c, host, e.now()),
		})
	}
	return boxes, nil
}

// Remove removes a box by force.
func (e *Engine) Remove(ctx context.Context, b Left) error { return remove(ctx, e.cli, b.ID) }
