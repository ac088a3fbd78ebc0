package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const ipcRemove = 0 // IPC_RMID

// removeIPC removes all System V shared memory, semaphores and queues.
func removeIPC(dir string) error {
	for _, kind := range []struct {
		name string
		call uintptr
	}{{"shm", unix.SYS_SHMCTL}, {"sem", unix.SYS_SEMCTL}, {"msg", unix.SYS_MSGCTL}} {
		table, err := os.ReadFile(dir + "/" + kind.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without System V IPC
		}
		if err != nil {
			return fmt.Errorf("list System V %s: %w", kind.name, err)
		}
		for _, id := range ipcIDs(table) {
			var errno unix.Errno
			if kind.name == "sem" {
				_, _, errno = unix.Syscall6(kind.call, id, 0, ipcRemove, 0, 0, 0)
			} else {
				_, _, errno = unix.Syscall(kind.call, id, ipcRemove, 0)
			}
			if errno != 0 && errno != unix.EINVAL && errno != unix.EIDRM {
				return fmt.Errorf("remove System V %s %d: %w", kind.name, id, errno)
			}
		}
	}
	return nil
}

// ipcIDs reads the second column below the heading.
func ipcIDs(table []byte) []uintptr {
	var ids []uintptr
	lines := bytes.Split(table, []byte("\n"))
	for _, line := range lines[1:] {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		if id, err := strconv.ParseUint(string(f[1]), 10, 32); err == nil {
			ids = append(ids, uintptr(id))
		}
	}
	return ids
}
