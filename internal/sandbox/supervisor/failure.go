package supervisor

import (
	"errors"
	"fmt"
	"syscall"

	"assay/internal/sandbox/frame"
)

// failure is an error that the host can rebuild.
type failure struct {
	frame.Fail
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s %s %q: errno %d %s", f.Code, f.Op, f.Path, f.Errno, f.Message)
}

func invalid(message string) error {
	return &failure{frame.Fail{Code: frame.FailInvalid, Message: message}}
}

// fileError gives an errno its operation and path. openat2 answers EXDEV where a
// path leads out of the workspace.
func fileError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, syscall.EXDEV) {
		return &failure{frame.Fail{Code: frame.FailEscape, Op: op, Path: []byte(path)}}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return &failure{frame.Fail{Code: frame.FailErrno, Op: op, Path: []byte(path), Errno: int(errno)}}
	}
	return &failure{frame.Fail{Code: frame.FailInvalid, Op: op, Path: []byte(path), Message: err.Error()}}
}

func toFail(err error) frame.Fail {
	var f *failure
	if errors.As(err, &f) {
		return f.Fail
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return frame.Fail{Code: frame.FailErrno, Message: err.Error(), Errno: int(errno)}
	}
	return frame.Fail{Code: frame.FailInvalid, Message: err.Error()}
}
