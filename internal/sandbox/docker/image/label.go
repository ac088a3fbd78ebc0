package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// names tell our images from others.
type names struct {
	label      string // key of the label that says what an image is
	repository string // of the tags
}

func published() names { return names{label: "io.assay.image", repository: "assay-box"} }

const (
	labelFormat = 1
	maxLabel    = 64 << 10 // bytes
	maxLayers   = 64
)

// label is what an image says of itself.
type label struct {
	Format          int      `json:"format"`
	Recipe          string   `json:"recipe"`
	Suite           string   `json:"suite"`
	Root            string   `json:"root"`
	Python          string   `json:"python"`
	Packages        string   `json:"packages"`
	Base            []string `json:"base"`                       // diff ids of the layers below the supervisor
	Supervisor      string   `json:"supervisor,omitempty"`       // empty: a base without one
	SupervisorLayer string   `json:"supervisor_layer,omitempty"` // diff id
	From            string   `json:"from,omitempty"`
}

// layers are the diff ids that an image with this label must have.
func (l label) layers() []string {
	all := append([]string(nil), l.Base...)
	if l.SupervisorLayer != "" {
		all = append(all, l.SupervisorLayer)
	}
	return all
}

func (l label) String() string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(b)
}

// parseLabel refuses a label that is not complete and in one piece.
func parseLabel(text string) (label, error) {
	var l label
	if len(text) > maxLabel {
		return l, fmt.Errorf("the label has %d bytes; at most %d are read", len(text), maxLabel)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return label{}, fmt.Errorf("the label is not readable: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return label{}, fmt.Errorf("the label goes on after its end")
	}
	if l.Format != labelFormat {
		return label{}, fmt.Errorf("the label has format %d; this assay knows %d", l.Format, labelFormat)
	}
	if l.Recipe == "" || l.Python == "" || !isHex(l.Root) || !isHex(l.Packages) {
		return label{}, fmt.Errorf("the label leaves out what the image was made of")
	}
	if len(l.Base) == 0 || len(l.Base) > maxLayers {
		return label{}, fmt.Errorf("the label names %d base layers", len(l.Base))
	}
	for _, id := range l.layers() {
		if !isDigest(id) {
			return label{}, fmt.Errorf("the label names a layer %q, which is no digest", id)
		}
	}
	if (l.Supervisor == "") != (l.SupervisorLayer == "") || l.Supervisor != "" && !isHex(l.Supervisor) {
		return label{}, fmt.Errorf("the label tells half of its supervisor")
	}
	return l, nil
}

// isHex reports whether s is a sha256 in hex.
func isHex(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && isHex(hex)
}
