package doctor

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// What a run opens at once.
const (
	streams        = 1000 // that the load client is built for
	filesPerStream = 2    // the scripted engine holds the other end in the same process
	otherFiles     = 200  // boxes, database, logs
	neededFiles    = streams*filesPerStream + otherFiles
	fewestFiles    = 256 // for a run that decodes one stream at a time
)

// FileLimits bound the files that this process may have open.
type FileLimits struct{ Soft, Hard uint64 }

func fileLimits() (FileLimits, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return FileLimits{}, fmt.Errorf("getrlimit: %w", err)
	}
	return FileLimits{Soft: l.Cur, Hard: l.Max}, nil
}

func (h Host) fileDescriptors(context.Context) Check {
	l, err := h.Files()
	if err != nil {
		return na(err.Error())
	}
	n := func(v uint64) string {
		if v == unix.RLIM_INFINITY {
			return "unlimited"
		}
		return fmt.Sprint(v)
	}
	found := fmt.Sprintf("%s may be open at once (hard limit %s)", n(l.Soft), n(l.Hard))
	cure := "ulimit -n 4096 in the shell that starts assay; for a service: LimitNOFILE=4096 in its unit"
	if l.Hard < 4096 {
		cure = "as root: '* hard nofile 4096' in /etc/security/limits.conf, log in again, ulimit -n 4096; for a service: LimitNOFILE=4096 in its unit"
	}
	switch {
	case l.Soft < fewestFiles:
		return fail(fmt.Sprintf("%s; a run needs %d", found, fewestFiles), cure)
	case l.Soft < neededFiles:
		return warn(fmt.Sprintf("%s; %d streams at once need %d", found, streams, neededFiles), cure)
	}
	return ok(found)
}
