package wire

import (
	"bytes"
	"time"

	"assay/internal/bench"
)

// events splits a server-sent event stream. Lines end with LF or CRLF. Comments
// (pings) and the fields event, id and retry carry nothing that we use; the data
// lines of an event are joined with LF, as the standard says.
type events struct {
	limit int
	line  []byte        // a line whose end has not come yet
	data  []byte        // data of the event so far
	open  bool          // the event has a data field
	at    time.Duration // of the last data line
	last  time.Duration // of the last read
	spoke bool          // something came that belongs to an event stream
	first []byte        // start of the first line that does not
}

// emit takes the data of one event and the moment at which its last data line
// was read. The data is valid during the call only.
type emit func(data []byte, at time.Duration) *bench.EngineError

func (e *events) feed(b []byte, at time.Duration, emit emit) *bench.EngineError {
	e.last = at
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if len(e.line)+len(b) > e.limit {
				return tooLarge("one line of the stream", e.limit)
			}
			e.line = append(e.line, b...)
			return nil
		}
		line := b[:i]
		b = b[i+1:]
		if len(e.line)+len(line) > e.limit {
			return tooLarge("one line of the stream", e.limit)
		}
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		err := e.take(bytes.TrimSuffix(line, []byte{'\r'}), at, emit)
		e.line = e.line[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// close hands over what the stream left open. A standard reader drops an event
// whose blank line is missing; here it counts if its data is whole, because its
// tokens were generated and paid for. A part of a JSON text is dropped silently:
// the caller reports the cut.
func (e *events) close(emit emit) *bench.EngineError {
	if len(e.line) > 0 {
		line := bytes.TrimSuffix(e.line, []byte{'\r'})
		e.line = nil
		if data, ok := field(line, "data"); !ok || whole(data) {
			if err := e.take(line, e.last, emit); err != nil {
				return err
			}
		}
	}
	if e.open && whole(e.data) {
		return e.dispatch(emit)
	}
	return nil
}

// take handles one line without its end.
func (e *events) take(line []byte, at time.Duration, emit emit) *bench.EngineError {
	if len(line) == 0 {
		return e.dispatch(emit)
	}
	if data, ok := field(line, "data"); ok {
		if len(e.data)+len(data)+1 > e.limit {
			return tooLarge("one event of the stream", e.limit)
		}
		if e.open {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, data...)
		e.open, e.spoke, e.at = true, true, at
		return nil
	}
	if line[0] == ':' || isField(line) {
		e.spoke = true
		return nil
	}
	if e.first == nil {
		e.first = append([]byte{}, line[:min(len(line), 200)]...)
	}
	return nil
}

func (e *events) dispatch(emit emit) *bench.EngineError {
	if !e.open {
		return nil
	}
	err := emit(e.data, e.at)
	e.data, e.open = e.data[:0], false
	return err
}

// field returns the value of a line that holds the named field: without the
// colon and without one blank after it.
func field(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return nil, false
	}
	v := line[len(name):]
	if len(v) == 0 {
		return v, true
	}
	if v[0] != ':' {
		return nil, false
	}
	v = v[1:]
	if len(v) > 0 && v[0] == ' ' {
		v = v[1:]
	}
	return v, true
}

func isField(line []byte) bool {
	for _, name := range []string{"event", "id", "retry"} {
		if _, ok := field(line, name); ok {
			return true
		}
	}
	return false
}
