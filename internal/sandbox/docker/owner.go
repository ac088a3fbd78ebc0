package docker

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"golang.org/x/sys/unix"
)

// Labels of the containers of boxes.
const (
	labelBox     = "io.assay.box"     // purpose of the box
	labelOwner   = "io.assay.owner"   // token of the factory that made it
	labelHost    = "io.assay.host"    // where the owner's pid means something
	labelPID     = "io.assay.pid"     // of the owner
	labelStarted = "io.assay.started" // start of the owner's process, clock ticks since boot
)

// owner is the process that containers belong to.
type owner struct {
	token   string
	host    string
	pid     int
	started string
}

// newOwner describes this process, with a token of its own for each factory.
func newOwner() (owner, error) {
	host, err := hostID()
	if err != nil {
		return owner{}, err
	}
	started, err := processStart(os.Getpid())
	if err != nil {
		return owner{}, fmt.Errorf("read when this process started: %w", err)
	}
	return owner{token: rand.Text(), host: host, pid: os.Getpid(), started: started}, nil
}

func (o owner) labels(purpose string) map[string]string {
	return map[string]string{
		labelBox: purpose, labelOwner: o.token, labelHost: o.host, labelPID: strconv.Itoa(o.pid), labelStarted: o.started,
	}
}

// hostID names the place in which pids mean the same: one boot of one machine
// and one pid namespace.
func hostID() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("read the pid namespace: %w", err)
	}
	sum := sha256.Sum256(append(bytes.TrimSpace(boot), ns...))
	return hex.EncodeToString(sum[:8]), nil
}

// processStart reads field 22 of /proc/PID/stat, which with the pid names a
// process for good.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The command name may hold blanks and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return string(fields[19]), nil
}

// Liveness says whether the run that a box belongs to still runs.
type Liveness string

// What can be said of an owner.
const (
	OwnerAlive     Liveness = "alive"
	OwnerDead      Liveness = "dead"
	OwnerElsewhere Liveness = "elsewhere" // of another machine, boot or pid namespace: unknown
)

// startsWithin bounds the time from the making of a box to its start, far above
// what an engine needs: one that is older and was never started is nobody's.
const startsWithin = time.Hour

// judge tells from a container whether its owner still runs.
func judge(c container.Summary, host string, now time.Time) Liveness {
	if c.State == container.StateCreated && now.Sub(time.Unix(c.Created, 0)) > startsWithin {
		return OwnerDead
	}
	if c.Labels[labelHost] != host {
		return OwnerElsewhere
	}
	pid, err := strconv.Atoi(c.Labels[labelPID])
	if err != nil || pid <= 0 {
		return OwnerDead // we wrote no such label: what it belongs to cannot be running
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return OwnerDead
	}
	// A process that cannot be looked at is somebody's all the same.
	if started, err := processStart(pid); err == nil && started != c.Labels[labelStarted] {
		return OwnerDead
	}
	return OwnerAlive
}
