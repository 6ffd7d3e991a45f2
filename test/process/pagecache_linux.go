package process

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// DropFromCache has the pages of a file read from the disk again. A file that was just
// written is in memory in larger pieces than one that was read, so that a process has up to
// 30 MiB more of its binary.
func DropFromCache(path string) (err error) {
	file, err := os.Open(path) //nolint:gosec // the binary to measure
	if err != nil {
		return fmt.Errorf("drop binary from the page cache: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := errors.Join(file.Sync(), unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		return fmt.Errorf("drop binary from the page cache: %w", err)
	}

	return nil
}
