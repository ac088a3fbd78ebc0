package image

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// registry serves one image to an engine on this machine, as the distribution
// protocol demands.
type registry struct {
	mu       sync.Mutex
	manifest []byte
	blobs    map[string][]byte
	harm     func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	asked    []string
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

func (g *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked = append(g.asked, r.Method+" "+r.URL.Path)
	g.mu.Unlock()
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	switch {
	case g.harm != nil && g.harm(w, r):
	case r.URL.Path == "/v2/":
	case strings.Contains(r.URL.Path, "/manifests/"):
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", sum(g.manifest))
		http.ServeContent(w, r, "", zeroTime(), bytes.NewReader(g.manifest))
	default:
		b, ok := g.blobs[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", zeroTime(), bytes.NewReader(b))
	}
}

func (g *registry) blob(b []byte) string {
	g.blobs[sum(b)] = b
	return sum(b)
}

// publish puts a draft into a registry and returns what to pull.
func publish(t *testing.T, d draft) (*registry, string) {
	t.Helper()
	g := &registry{blobs: map[string][]byte{}}
	config, err := d.config()
	if err != nil {
		t.Fatal(err)
	}
	type descriptor struct {
		MediaType string `json:"mediaType"`
		Size      int    `json:"size"`
		Digest    string `json:"digest"`
	}
	var layers []descriptor
	for _, l := range d.layers {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if err := l.bytes(t.Context(), z); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		layers = append(layers, descriptor{"application/vnd.docker.image.rootfs.diff.tar.gzip", b.Len(), g.blob(b.Bytes())})
	}
	if g.manifest, err = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "layers": layers,
		"config": descriptor{"application/vnd.docker.container.image.v1+json", len(config), g.blob(config)},
	}); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return g, fmt.Sprintf("%s/boxes@%s", strings.TrimPrefix(s.URL, "http://"), sum(g.manifest))
}
