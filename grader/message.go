package grader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// head is what every request of the judge begins with. N counts from 1 without a
// gap; Lane is the judge's thread, of which there is one so far.
type head struct {
	Op   string `json:"op"`
	N    int    `json:"n"`
	Lane int    `json:"lane"`
}

// The judge's messages, one type each. Every field must be there, no other may.
type (
	msgBeginCheck struct {
		head
		ID string `json:"id"`
	}
	msgResult struct {
		head
		ID      string `json:"id"`
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	msgRun struct {
		head
		Argv   []string `json:"argv"`
		Cwd    string   `json:"cwd"`
		Env    []string `json:"env"`
		Stdin  []byte   `json:"stdin"`
		WallMS int64    `json:"wall_ms"` // 0: the fixture's limit
	}
	msgWrite struct {
		head
		Path string `json:"path"`
		Data []byte `json:"data"`
		Mode uint32 `json:"mode"`
	}
	msgMkdir struct {
		head
		Path string `json:"path"`
		Mode uint32 `json:"mode"`
	}
	msgSymlink struct {
		head
		Path   string `json:"path"`
		Target string `json:"target"`
	}
	msgPath struct { // read, exists
		head
		Path string `json:"path"`
	}
	msgOpen struct {
		head
		Module string `json:"module"`
	}
	msgDo struct {
		head
		Act    string          `json:"act"`
		Target int             `json:"target"`
		Name   string          `json:"name"`
		Args   json.RawMessage `json:"args"`
		Kwargs json.RawMessage `json:"kwargs"`
	}
	msgViolation struct {
		head
		Why string `json:"why"`
	}
	msgFault struct {
		Op      string `json:"op"`
		Message string `json:"message"`
	}
	msgEnd struct {
		Op    string `json:"op"`
		Count int    `json:"count"`
		Nonce string `json:"nonce"`
	}
)

// msgBegin is the first frame to the judge.
type msgBegin struct {
	Op         string   `json:"op"`
	Schema     int      `json:"schema"`
	Acceptance string   `json:"acceptance"`
	Frozen     []string `json:"frozen"` // every id of the fixture
	Run        []string `json:"run"`    // those to run now, in this order
	Secret     string   `json:"secret"`
	Nonce      string   `json:"nonce"`
}

// msgReply is the host's answer to one request; which fields it has depends on
// the request. The parts of a candidate are passed on as they came.
type msgReply struct {
	Op      string          `json:"op"`
	N       int             `json:"n"`
	Done    bool            `json:"done,omitempty"`
	Exists  *bool           `json:"exists,omitempty"`
	Data    *[]byte         `json:"data,omitempty"`
	OSError *msgOSError     `json:"oserror,omitempty"`
	Run     *msgRan         `json:"run,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	Refused *string         `json:"refused,omitempty"`
	Ended   *string         `json:"ended,omitempty"`
	Lost    *msgLost        `json:"lost,omitempty"`
}

type msgOSError struct {
	Errno int    `json:"errno"`
	Path  string `json:"path"`
}

type msgRan struct {
	Code    int    `json:"code"`
	Signal  int    `json:"signal"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Stdout  []byte `json:"stdout"`
	Stderr  []byte `json:"stderr"`
	WallMS  int64  `json:"wall_ms"`
}

// msgLost says why a candidate's process gave no answer.
type msgLost struct {
	Why    string `json:"why"`
	Limit  string `json:"limit"`
	Stderr string `json:"stderr"`
}

// msgImport and msgAct are what a candidate's child process is asked.
type msgImport struct {
	Op     string `json:"op"`
	N      int    `json:"n"`
	Module string `json:"module"`
}

type msgAct struct {
	Op     string          `json:"op"`
	N      int             `json:"n"`
	Act    string          `json:"act"`
	Target int             `json:"target"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Kwargs json.RawMessage `json:"kwargs"`
}

// msgAnswer is the only frame that a candidate's process may send: op "reply",
// the number of the request, and one of the rest.
type msgAnswer struct {
	Op      string          `json:"op"`
	N       int             `json:"n"`
	Value   json.RawMessage `json:"value"`
	Error   json.RawMessage `json:"error"`
	Refused *string         `json:"refused"`
	Ended   *string         `json:"ended"`
}

// acts are the things that can be asked of a candidate's object.
func knownAct(act string) bool {
	switch act {
	case "get", "call", "index", "len", "iter", "next", "contains", "enter", "exit", "str", "repr":
		return true
	}
	return false
}

// opOf scans a frame and returns its op with its top keys.
func opOf(b []byte) (op string, keys []string, err error) {
	keys, err = scan(b)
	if err != nil {
		return "", nil, err
	}
	var h struct {
		Op string `json:"op"`
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return "", nil, fmt.Errorf("%w: %v", errBadFrame, err)
	}
	return h.Op, keys, nil
}

// decode reads a scanned frame into T, which must have exactly the frame's keys.
func decode[T any](b []byte, keys []string) (T, error) {
	var m T
	if n := fields(reflect.TypeFor[T]()); len(keys) != n {
		return m, fmt.Errorf("%w: %d fields where %d belong: %v", errBadFrame, len(keys), n, keys)
	}
	return m, unmarshal(b, &m)
}

func unmarshal(b []byte, m any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return fmt.Errorf("%w: %v", errBadFrame, err)
	}
	if d.InputOffset() != int64(len(b)) {
		return fmt.Errorf("%w: %d bytes after the object", errBadFrame, int64(len(b))-d.InputOffset())
	}
	return nil
}

func fields(t reflect.Type) int {
	n := 0
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			n++
		}
	}
	return n
}

// decodeAnswer reads a frame of a candidate's process that must answer request n.
func decodeAnswer(b []byte, n int) (msgAnswer, error) {
	op, keys, err := opOf(b)
	if err != nil {
		return msgAnswer{}, err
	}
	var a msgAnswer
	if op != "reply" || len(keys) != 3 {
		return a, fmt.Errorf("%w: op %.40q with the fields %.200v", errBadFrame, op, keys)
	}
	if err := unmarshal(b, &a); err != nil {
		return a, err
	}
	given := 0
	for _, there := range []bool{a.Value != nil, a.Error != nil, a.Refused != nil, a.Ended != nil} {
		if there {
			given++
		}
	}
	if a.N != n || given != 1 {
		return a, fmt.Errorf("%w: an answer to request %d with %d results, where request %d waits for one", errBadFrame, a.N, given, n)
	}
	return a, nil
}

// encode writes a message without touching the bytes of values inside it.
func encode(m any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
