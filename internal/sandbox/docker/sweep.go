package docker

import (
	"context"
	"fmt"
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

// sweepDead removes boxes whose owner ended on this machine.
func (e *Engine) sweepDead(ctx context.Context, host string) (removed int, err error) {
	all, err := list(ctx, e.cli, labelBox, "")
	if err != nil {
		return 0, fmt.Errorf("look for boxes that were left behind: %w", err)
	}
	for _, c := range all {
		if judge(c, host, e.now()) != OwnerDead {
			continue
		}
		if err := remove(ctx, e.cli, c.ID); err != nil {
			return removed, fmt.Errorf("remove box %.12s that a dead run left behind: %w", c.ID, err)
		}
		removed++
	}
	return removed, nil
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
