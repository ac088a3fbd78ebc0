package frame

// Version of the protocol; both ends must have the same.
const Version = 2

// Window is how many bytes of one process stream may be under way without
// having been consumed at the far end.
const Window = 256 << 10

// Hello is the supervisor's first frame.
type Hello struct {
	Version    int  `json:"version"`
	OOMCounter bool `json:"oom_counter"` // whether kills for memory are counted in this box
}

// Begin is the host's first frame.
type Begin struct {
	DeadlineMS  int64 `json:"deadline_ms"`
	Processes   int   `json:"processes"`
	MemoryBytes int64 `json:"memory_bytes"`
}

// Limits bound one process; zero: none but the box's.
type Limits struct {
	WallMS      int64 `json:"wall_ms"`
	CPUSeconds  int64 `json:"cpu_seconds"`
	OutputBytes int64 `json:"output_bytes"`
	MemoryBytes int64 `json:"memory_bytes"`
	FileBytes   int64 `json:"file_bytes"`
	Processes   int   `json:"processes"`
	OpenFiles   int   `json:"open_files"`
}

// Start starts a process; its id names it from then on.
type Start struct {
	Argv   [][]byte `json:"argv"`
	Dir    []byte   `json:"dir"`
	Env    [][]byte `json:"env"`
	Limits Limits   `json:"limits"`
	Stdin  bool     `json:"stdin"` // false: /dev/null
	Sweep  bool     `json:"sweep"` // kill what it leaves behind before its end is told
}

// Stdin carries bytes for a process in its payload.
type Stdin struct {
	EOF bool `json:"eof"`
}

// Credit lets that many more bytes come: of the process's output when the host
// sends it, of its input when the supervisor does.
type Credit struct {
	Stdout int `json:"stdout,omitempty"`
	Stderr int `json:"stderr,omitempty"`
	Stdin  int `json:"stdin,omitempty"`
}

// Exit is the end of a process, after all of its output.
type Exit struct {
	Reason      string `json:"reason"`
	Code        int    `json:"code"`
	Signal      int    `json:"signal"`
	Message     string `json:"message,omitempty"`
	WallUS      int64  `json:"wall_us"`
	CPUUS       int64  `json:"cpu_us"`
	StdoutBytes int64  `json:"stdout_bytes"`
	StderrBytes int64  `json:"stderr_bytes"`
	// Processes of the box that the kernel killed for memory meanwhile; absent:
	// not known.
	OOMKills *int64 `json:"oom_kills,omitempty"`
}

// File is one file of a tree; its bytes stand in the payload, in order.
type File struct {
	Path []byte `json:"path"`
	Size int64  `json:"size"`
	Exec bool   `json:"exec,omitempty"`
}

// Tree is the head of put and reset frames.
type Tree struct {
	Files []File `json:"files"`
}

// Read asks for a file.
type Read struct {
	Path []byte `json:"path"`
	Max  int64  `json:"max"`
}

// The kinds of a write.
const (
	WriteFile    = "file"
	WriteDir     = "dir"
	WriteSymlink = "symlink"
)

// Write makes a file, directory or link; payload: content or link target.
type Write struct {
	Path []byte `json:"path"`
	Kind string `json:"kind"`
	Mode uint32 `json:"mode"` // permission bits
}

// List asks for a listing.
type List struct {
	Dir []byte `json:"dir"`
	Max int    `json:"max"`
}

// Entry is one line of a listing.
type Entry struct {
	Path []byte `json:"path"`
	Kind string `json:"kind"`
	Size int64  `json:"size,omitempty"`
}

// Entries is a listing.
type Entries struct {
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

// Export asks for the workspace.
type Export struct {
	Files     int   `json:"files"`
	FileBytes int64 `json:"file_bytes"`
	Bytes     int64 `json:"bytes"`
	Depth     int   `json:"depth"`
	PathBytes int   `json:"path_bytes"`
}

// Skipped is something that an export did not take; the path is escaped.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Exported is the workspace: files as in Tree.
type Exported struct {
	Files    []File    `json:"files"`
	Skipped  []Skipped `json:"skipped"`
	Rejected string    `json:"rejected,omitempty"`
}

// The codes of a Fail.
const (
	FailErrno      = "errno"
	FailEscape     = "escape"
	FailTooLarge   = "too_large"
	FailNotRegular = "not_regular"
	FailInvalid    = "invalid"
)

// Fail says why a request was not done.
type Fail struct {
	Code    string `json:"code"`
	Op      string `json:"op,omitempty"`
	Path    []byte `json:"path,omitempty"`
	Errno   int    `json:"errno,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Max     int64  `json:"max,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message,omitempty"`
}
