package link

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"unicode"
	"unicode/utf8"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/frame"
)

// Ping is a round trip that does nothing.
func (b *Box) Ping(ctx context.Context) error {
	_, err := b.call(ctx, frame.TypePing, nil, nil, frame.TypeDone)
	return err
}

// Put lays files.
func (b *Box) Put(ctx context.Context, tree bench.Tree) error {
	return b.lay(ctx, frame.TypePut, tree)
}

// Reset sweeps, empties and lays files.
func (b *Box) Reset(ctx context.Context, tree bench.Tree) error {
	return b.lay(ctx, frame.TypeReset, tree)
}

func (b *Box) lay(ctx context.Context, t frame.Type, tree bench.Tree) error {
	head := frame.Tree{Files: make([]frame.File, len(tree))}
	var payload bytes.Buffer
	payload.Grow(int(min(tree.Size(), frame.MaxPayload)))
	for i, f := range tree {
		head.Files[i] = frame.File{Path: []byte(f.Path), Size: int64(len(f.Data)), Exec: f.Exec}
		payload.Write(f.Data)
	}
	_, err := b.call(ctx, t, head, payload.Bytes(), frame.TypeDone)
	return wrap(err, "lay %d files", len(tree))
}

// ReadFile returns a regular file.
func (b *Box) ReadFile(ctx context.Context, name string, max int64) ([]byte, error) {
	p, err := clean("open", name)
	if err != nil {
		return nil, err
	}
	f, err := b.call(ctx, frame.TypeRead, frame.Read{Path: p, Max: max}, nil, frame.TypeDone)
	if err != nil {
		return nil, err
	}
	if f.Payload == nil {
		return []byte{}, nil
	}
	return f.Payload, nil
}

// WriteFile makes a file, folder or link.
func (b *Box) WriteFile(ctx context.Context, name string, data []byte, mode fs.FileMode) error {
	p, err := clean("open", name)
	if err != nil {
		return err
	}
	h := frame.Write{Path: p, Kind: frame.WriteFile, Mode: uint32(mode.Perm())}
	switch mode.Type() {
	case 0:
	case fs.ModeDir:
		h.Kind = frame.WriteDir
	case fs.ModeSymlink:
		h.Kind = frame.WriteSymlink
	default:
		return fmt.Errorf("write %q: mode %s is neither file, folder nor link", name, mode)
	}
	_, err = b.call(ctx, frame.TypeWrite, h, data, frame.TypeDone)
	return err
}

// ListFiles lists a folder.
func (b *Box) ListFiles(ctx context.Context, dir string, max int) ([]bench.DirEntry, error) {
	var p []byte
	if d := path.Clean(dir); dir != "" && d != "." {
		var err error
		if p, err = clean("open", d); err != nil {
			return nil, err
		}
	}
	f, err := b.call(ctx, frame.TypeList, frame.List{Dir: p, Max: max}, nil, frame.TypeEntries)
	if err != nil {
		return nil, err
	}
	h, err := frame.Decode[frame.Entries](f)
	if err != nil {
		return nil, &sandbox.LostError{Why: "it broke the protocol", Err: err}
	}
	entries := make([]bench.DirEntry, 0, len(h.Entries)+1)
	for _, e := range h.Entries {
		entries = append(entries, bench.DirEntry{Path: shown(e.Path), Kind: e.Kind, Size: e.Size})
	}
	if h.Truncated {
		entries = append(entries, bench.DirEntry{Kind: "truncated"})
	}
	return entries, nil
}

// Sweep kills every process of the candidate.
func (b *Box) Sweep(ctx context.Context) error {
	_, err := b.call(ctx, frame.TypeSweep, nil, nil, frame.TypeDone)
	return err
}

// Export gives the workspace back.
func (b *Box) Export(ctx context.Context, l bench.ExportLimits) (bench.Export, error) {
	head := frame.Export{Files: l.Files, FileBytes: l.FileBytes, Bytes: l.Bytes, Depth: l.Depth, PathBytes: l.PathBytes}
	f, err := b.call(ctx, frame.TypeExport, head, nil, frame.TypeExported)
	if err != nil {
		return bench.Export{}, wrap(err, "export the workspace")
	}
	x, err := exported(f)
	if err != nil {
		return bench.Export{}, &sandbox.LostError{Why: "its export is broken", Err: err}
	}
	return x, nil
}

func exported(f frame.Frame) (bench.Export, error) {
	h, err := frame.Decode[frame.Exported](f)
	if err != nil {
		return bench.Export{}, err
	}
	x := bench.Export{Rejected: h.Rejected}
	for _, s := range h.Skipped {
		x.Skipped = append(x.Skipped, bench.Skipped{Path: s.Path, Reason: s.Reason})
	}
	if x.Rejected != "" {
		return x, nil
	}
	files := make([]bench.File, 0, len(h.Files))
	rest := f.Payload
	for _, e := range h.Files {
		if e.Size < 0 || e.Size > int64(len(rest)) {
			return x, fmt.Errorf("%w: file %q announces %d bytes, %d are left", frame.ErrProtocol, e.Path, e.Size, len(rest))
		}
		files = append(files, bench.File{Path: string(e.Path), Exec: e.Exec, Data: bytes.Clone(rest[:e.Size])})
		rest = rest[e.Size:]
	}
	x.Tree, err = bench.NewTree(files)
	return x, err
}

// clean makes a path relative and clean, or refuses it.
func clean(op, name string) ([]byte, error) {
	p := path.Clean(name)
	if name == "" || p == "." || bench.CheckPath(p) != nil {
		if p == ".." || len(p) > 2 && p[:3] == "../" || path.IsAbs(p) {
			return nil, &sandbox.EscapeError{Path: name}
		}
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return []byte(p), nil
}

// shown is a name for people: quoted where it is not printable.
func shown(name []byte) string {
	s := string(name)
	if !utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
