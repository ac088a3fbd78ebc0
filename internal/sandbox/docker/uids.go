package docker

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"assay/internal/sandbox/docker/image"
)

// uids hands out the uid of each box. No two boxes that live have the same, for
// the kernel counts the processes of a uid over all of them: a fork bomb in one
// would starve the other. It begins anywhere, so that two runs seldom meet.
type uids struct {
	mu   sync.Mutex
	next int
	used [image.UIDs]bool
}

func newUIDs() *uids { return &uids{next: rand.IntN(image.UIDs)} }

func (u *uids) take() (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for range image.UIDs {
		i := u.next
		u.next = (u.next + 1) % image.UIDs
		if !u.used[i] {
			u.used[i] = true
			return image.FirstUID + i, nil
		}
	}
	return 0, fmt.Errorf("all %d uids of boxes are in use", image.UIDs)
}

func (u *uids) free(uid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used[uid-image.FirstUID] = false
}
