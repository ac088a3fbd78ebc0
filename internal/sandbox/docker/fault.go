package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"assay/internal/sandbox"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Fault is a kind of failure of the engine's side. None of them is ever the
// candidate's doing.
type Fault string

// The faults that are told apart.
const (
	FaultGone       Fault = "engine_gone"   // it does not answer
	FaultPermission Fault = "permission"    // its socket may not be used
	FaultDiskFull   Fault = "disk_full"     // on the engine's machine
	FaultImage      Fault = "image_missing" // removed under us
	FaultContainer  Fault = "container_gone"
	FaultTimeout    Fault = "timeout"
	FaultOther      Fault = "other"
)

// Error is a failed call to the engine.
type Error struct {
	Op    string // "create", "attach", "start", "wait", "remove", "list"
	Fault Fault
	Cure  string // for people; may be empty
	Err   error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("docker %s: %v", e.Op, e.Err)
	if e.Cure != "" {
		s += "; " + e.Cure
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// wrap classifies a failure; nil stays nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Fault: faultOf(op, err), Err: err}
	e.Cure = cures[e.Fault]
	return e
}

func faultOf(op string, err error) Fault {
	text := strings.ToLower(err.Error())
	switch {
	case errors.Is(err, fs.ErrPermission), strings.Contains(text, "permission denied while trying to connect"), strings.Contains(text, "dial unix") && strings.Contains(text, "permission denied"):
		return FaultPermission
	case errors.Is(err, syscall.ENOSPC), strings.Contains(text, "no space left on device"), strings.Contains(text, "disk quota exceeded"):
		return FaultDiskFull
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return FaultTimeout
	case errdefs.IsNotFound(err) && (op == opCreate || strings.Contains(text, "no such image")):
		return FaultImage
	case errdefs.IsNotFound(err):
		return FaultContainer
	case client.IsErrConnectionFailed(err), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, fs.ErrNotExist), strings.Contains(text, "cannot connect to the docker daemon"), strings.HasSuffix(text, "eof"):
		return FaultGone
	}
	return FaultOther
}

// The calls of a box's life.
const (
	opCreate = "create"
	opAttach = "attach"
	opStart  = "start"
	opRemove = "remove"
	opList   = "list"
	opWait   = "wait"
)

var cures = map[Fault]string{
	FaultGone:       "start the engine (sudo systemctl start docker), or correct or unset DOCKER_HOST",
	FaultPermission: "let your user use the engine: sudo usermod -aG docker $USER, then log in again",
	FaultDiskFull:   "make room on the engine's disk: docker system df shows what takes it, docker system prune removes what is unused",
	FaultImage:      "the image of boxes was removed; assay image build makes it again",
	FaultTimeout:    "the engine is overloaded or hangs; docker ps and its log (journalctl -u docker) show which",
}

// unavailable says why no engine can be used, and what to do.
func unavailable(named string, err error) error {
	where := "no docker engine answers"
	if named != "" {
		where = fmt.Sprintf("the docker engine that DOCKER_HOST names (%s) cannot be used", named)
	}
	fault := faultOf("connect", err)
	cure := cures[FaultGone]
	switch fault {
	case FaultPermission:
		where, cure = "the docker engine's socket refuses this user", cures[fault]
	case FaultTimeout:
		where, cure = fmt.Sprintf("the docker engine did not answer within %s", connectTime), cures[fault]
	}
	return &sandbox.UnavailableError{Problem: fmt.Sprintf("%s: %v", where, err), Cure: cure}
}
