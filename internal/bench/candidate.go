package bench

// Skipped is something in a workspace that an export did not take.
type Skipped struct {
	Path   string // escaped where it is not printable UTF-8
	Reason string // "symlink", "fifo", "socket", "device", "unreadable", "bytecode", "git", …
}

// Export is what a box gave back of its workspace. Rejected is not empty when a
// cap or rule was broken: then Tree is empty and the candidate is neither
// functional nor delivered.
type Export struct {
	Tree     Tree
	Skipped  []Skipped
	Rejected string // the rule, its value and what broke it
}

// ExportLimits cap an export. Over a cap it is rejected, never cut.
type ExportLimits struct {
	Files     int
	FileBytes int64
	Bytes     int64
	Depth     int
	PathBytes int
}

// DefaultExportLimits are those of every candidate.
func DefaultExportLimits() ExportLimits {
	return ExportLimits{Files: 2000, FileBytes: 1 << 20, Bytes: 8 << 20, Depth: 32, PathBytes: 512}
}

// Candidate is the frozen workspace that an attempt left: immutable, named by
// the digest of its tree.
type Candidate struct {
	ID       string // Tree.Digest()
	Tree     Tree
	Skipped  []Skipped
	Rejected string
}

// NewCandidate freezes an export.
func NewCandidate(e Export) Candidate {
	return Candidate{ID: e.Tree.Digest(), Tree: e.Tree, Skipped: e.Skipped, Rejected: e.Rejected}
}
