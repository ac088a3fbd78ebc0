package link

import (
	"fmt"
	"io/fs"
	"syscall"

	"assay/internal/sandbox"
	"assay/internal/sandbox/frame"
)

// answer gives the error that an answer stands for.
func answer(f frame.Frame, want frame.Type) error {
	if f.Type == want {
		return nil
	}
	if f.Type != frame.TypeFail {
		return &sandbox.LostError{Why: fmt.Sprintf("it answered %s where %s was due", f.Type, want)}
	}
	h, err := frame.Decode[frame.Fail](f)
	if err != nil {
		return &sandbox.LostError{Why: "it broke the protocol", Err: err}
	}
	return failed(h)
}

// failed rebuilds an error of the supervisor.
func failed(h frame.Fail) error {
	path := string(h.Path)
	switch h.Code {
	case frame.FailErrno:
		if h.Path == nil {
			return fmt.Errorf("box: %s: %w", h.Message, syscall.Errno(h.Errno))
		}
		return &fs.PathError{Op: h.Op, Path: path, Err: syscall.Errno(h.Errno)}
	case frame.FailEscape:
		return &sandbox.EscapeError{Path: path}
	case frame.FailTooLarge:
		return &sandbox.TooLargeError{Path: path, Size: h.Size, Max: h.Max}
	case frame.FailNotRegular:
		return &sandbox.NotRegularError{Path: path, Kind: h.Kind}
	}
	if h.Path != nil {
		return fmt.Errorf("box: %s %q: %s", h.Op, path, h.Message)
	}
	return fmt.Errorf("box: %s", h.Message)
}
