package docker

import (
	"testing"

	"assay/internal/sandbox/boxtest"
)

func BenchmarkBox(b *testing.B) { boxtest.Bench(b, open) }
