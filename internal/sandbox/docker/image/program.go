package image

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/sandbox"
)

// program is a supervisor's program.
type program struct {
	path         string
	digest       string // sha256, hex
	size         int64
	architecture string   // Go's name
	loader       string   // path of the dynamic loader; empty: a static program
	libraries    []string // that the loader will look for
}

// readProgram looks what a program needs, and refuses what no engine runs.
func readProgram(path string) (program, error) {
	p := program{path: path}
	f, err := os.Open(path)
	if err != nil {
		return p, fmt.Errorf("open the program of boxes: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if p.size, err = io.Copy(h, f); err != nil {
		return p, fmt.Errorf("read the program of boxes: %w", err)
	}
	p.digest = hex.EncodeToString(h.Sum(nil))
	e, err := elf.NewFile(f)
	if err != nil {
		return p, notForBoxes(path, "it is no program for linux: "+err.Error())
	}
	switch {
	case e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN:
		return p, notForBoxes(path, fmt.Sprintf("it is no program but of ELF type %v", e.Type))
	case e.OSABI != elf.ELFOSABI_NONE && e.OSABI != elf.ELFOSABI_LINUX:
		return p, notForBoxes(path, fmt.Sprintf("it is made for %v, not for linux", e.OSABI))
	case e.Machine == elf.EM_X86_64 && e.Class == elf.ELFCLASS64:
		p.architecture = "amd64"
	case e.Machine == elf.EM_AARCH64 && e.Class == elf.ELFCLASS64:
		p.architecture = "arm64"
	default:
		return p, notForBoxes(path, fmt.Sprintf("it is made for %v, %v; boxes run on amd64 and arm64", e.Machine, e.Class))
	}
	for _, s := range e.Progs {
		if s.Type == elf.PT_INTERP {
			text, err := io.ReadAll(io.LimitReader(s.Open(), 4096))
			if err != nil {
				return p, notForBoxes(path, "its loader cannot be read: "+err.Error())
			}
			for len(text) > 0 && text[len(text)-1] == 0 {
				text = text[:len(text)-1]
			}
			p.loader = string(text)
		}
	}
	if p.loader != "" {
		if p.libraries, err = e.ImportedLibraries(); err != nil {
			return p, notForBoxes(path, "its libraries cannot be read: "+err.Error())
		}
	}
	return p, nil
}

func notForBoxes(path, why string) error {
	return &sandbox.UnavailableError{
		Problem: fmt.Sprintf("%s cannot be the supervisor of boxes: %s", path, why),
		Cure:    "build assay with CGO_ENABLED=0 GOOS=linux for the machine that the docker engine runs on",
	}
}

// loadsIn refuses a dynamic program whose loader or libraries a tree lacks. Paths
// are looked up without following their last link, which may be absolute and then
// would lead out of the tree.
func (p program) loadsIn(tree string) error {
	if p.loader == "" {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(tree, p.loader)); errors.Is(err, fs.ErrNotExist) {
		return notForBoxes(p.path, fmt.Sprintf("it is a dynamic program, and its loader %s is not in the root tree of boxes", p.loader))
	} else if err != nil {
		return fmt.Errorf("look for the loader of %s in the root tree: %w", p.path, err)
	}
	for _, lib := range p.libraries {
		found := false
		for _, dir := range []string{"lib", "usr/lib", "lib64", "usr/lib64", "lib/*-linux-gnu", "usr/lib/*-linux-gnu"} {
			at, err := filepath.Glob(filepath.Join(tree, dir, lib))
			found = found || err == nil && len(at) > 0
		}
		if !found {
			return notForBoxes(p.path, fmt.Sprintf("it is a dynamic program, and its library %s is not in the root tree of boxes", lib))
		}
	}
	return nil
}

// loadsUnseen is loadsIn for a tree that is in the engine only. Every tree of ours
// has Debian's C library and no other.
func (p program) loadsUnseen() error {
	known := map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}
	if p.loader == "" || p.loader == known[p.architecture] {
		return nil
	}
	return notForBoxes(p.path, fmt.Sprintf("it is a dynamic program with loader %s, which images of boxes do not have", p.loader))
}
