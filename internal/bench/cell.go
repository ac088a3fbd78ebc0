package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Variant says how the instance of a task was chosen.
type Variant string

// A fixed variant is the same for every seed; a seeded one is a function of it.
const (
	VariantFixed  Variant = "fixed"
	VariantSeeded Variant = "seeded"
)

// Cell is arm x task x seed x repeat: planned once, the unit of pairing.
type Cell struct {
	Arm    string
	Task   string
	Seed   int // from 1
	Repeat int // from 1
}

func (c Cell) String() string {
	s := fmt.Sprintf("%s %s seed %d", c.Arm, c.Task, c.Seed)
	if c.Repeat > 1 {
		s += fmt.Sprintf(" repeat %d", c.Repeat)
	}
	return s
}

// SamplerSeed is the seed of the sampler in every request of a cell: a function
// of seed and repeat alone, so that all arms and tasks draw alike. It stays below
// 2^31, which every engine accepts.
func SamplerSeed(seed, repeat int) int64 {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(seed))
	binary.BigEndian.PutUint64(b[8:], uint64(repeat))
	sum := sha256.Sum256(b[:])
	return int64(binary.BigEndian.Uint32(sum[:4]) & 0x7fffffff)
}
