package wiretest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Recording is one recorded answer.
type Recording struct {
	Name   string // "base/chat-plain"
	Status int
	Header http.Header
	Body   []byte // without chunk framing
	Reads  []Read // of a timed recording; otherwise empty
}

// Read is one read of the body: its bytes, and the time since the request was
// sent at which it returned.
type Read struct {
	At   time.Duration
	Data []byte
}

// Load reads every recording below dir, sorted by name.
func Load(dir string) ([]Recording, error) {
	files, err := collect(dir)
	if err != nil {
		return nil, err
	}
	var out []Recording
	for name, data := range files {
		var r Recording
		switch {
		case strings.HasSuffix(name, ".timed.jsonl"):
			r, err = parseTimed(data)
			name = strings.TrimSuffix(name, ".jsonl")
		case strings.HasSuffix(name, ".http"):
			r, err = parse(data)
			name = strings.TrimSuffix(name, ".http")
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", name, err)
		}
		r.Name = name
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func collect(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".tar.zst") {
			return unpack(data, files)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(rel)] = data
		return nil
	})
	return files, err
}

func unpack(archive []byte, files map[string][]byte) error {
	z, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	defer z.Close()
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		files[strings.TrimPrefix(h.Name, "./")] = data
	}
}

func parse(data []byte) (Recording, error) {
	r, rest, err := parseHead(data)
	if err != nil {
		return r, err
	}
	r.Body = rest
	if framed(r.Header, rest) {
		// A recording that was cut ends inside its framing: the bytes before count.
		r.Body, _ = io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(rest)))
	}
	return r, nil
}

func parseHead(data []byte) (r Recording, rest []byte, err error) {
	head, rest, ok := bytes.Cut(data, []byte("\r\n\r\n"))
	if !ok {
		return r, nil, errors.New("no end of the headers")
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(append(append([]byte{}, head...), "\r\n\r\n"...))), nil)
	if err != nil {
		return r, nil, err
	}
	defer resp.Body.Close()
	r.Status, r.Header = resp.StatusCode, resp.Header
	if len(resp.TransferEncoding) > 0 {
		r.Header.Set("Transfer-Encoding", strings.Join(resp.TransferEncoding, ","))
	}
	return r, rest, nil
}

// framed reports whether the chunk framing was recorded: most recordings say
// that the answer was chunked and hold it without framing.
func framed(h http.Header, body []byte) bool {
	line, _, ok := bytes.Cut(body, []byte("\r\n"))
	if !ok || h.Get("Transfer-Encoding") != "chunked" || len(line) == 0 || len(line) > 8 {
		return false
	}
	return len(bytes.Trim(line, "0123456789abcdef")) == 0
}

// parseTimed reads socket reads and takes the chunk framing off, read by read.
func parseTimed(data []byte) (Recording, error) {
	var all []byte
	type mark struct {
		end int // offset in all at which the read ended
		at  time.Duration
	}
	var marks []mark
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var line struct {
			T    float64 `json:"t_ms"`
			Data string  `json:"data"`
		}
		err := dec.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Recording{}, err
		}
		all = append(all, line.Data...)
		marks = append(marks, mark{len(all), time.Duration(line.T * float64(time.Millisecond))})
	}
	r, rest, err := parseHead(all)
	if err != nil {
		return r, err
	}
	head := len(all) - len(rest)
	var frames deframer
	from := head
	for _, m := range marks {
		if m.end <= from {
			continue
		}
		body := all[from:m.end]
		if r.Header.Get("Transfer-Encoding") == "chunked" {
			body = frames.take(body)
		}
		from = m.end
		r.Reads = append(r.Reads, Read{At: m.at, Data: body})
		r.Body = append(r.Body, body...)
	}
	return r, nil
}

// deframer takes HTTP chunk framing off bytes that come in any pieces.
type deframer struct {
	size []byte // the size line so far
	left int    // bytes of the chunk still to come, its CRLF included
}

func (d *deframer) take(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		if d.left > 0 {
			n := min(d.left, len(b))
			keep := min(n, max(0, d.left-2)) // the last two bytes are CRLF
			out = append(out, b[:keep]...)
			b, d.left = b[n:], d.left-n
			continue
		}
		d.size = append(d.size, b[0])
		b = b[1:]
		if !bytes.HasSuffix(d.size, []byte("\r\n")) {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(string(d.size), "%x", &n); err == nil {
			d.left = n + 2
		}
		d.size = d.size[:0]
	}
	return out
}
