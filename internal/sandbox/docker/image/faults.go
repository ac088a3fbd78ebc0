package image

import (
	"errors"
	"fmt"
	"strings"

	"assay/internal/sandbox"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// failed says what an engine's fault means for people, where they can mend it.
func failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if strings.Contains(text, "no space left on device") || strings.Contains(text, "disk quota exceeded") {
		return &sandbox.UnavailableError{
			Problem: fmt.Sprintf("%s: the disk is full: %v", doing, err),
			Cure:    "look with docker system df, then make room with assay image prune, docker image prune or docker system prune",
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// refused tells an answer of the engine from faults of ours, of the way to it and
// of its disk.
func refused(err error) bool {
	var said *engineError
	return errors.As(err, &said)
}

// answered tells an error that the engine sent from one of the way to it.
func answered(err error) bool {
	return !client.IsErrConnectionFailed(err) &&
		(errdefs.IsInvalidArgument(err) || errdefs.IsInternal(err) || errdefs.IsNotFound(err) || errdefs.IsConflict(err) || errdefs.IsNotImplemented(err))
}
